import { Fifo } from "../base/fifo.ts";
import type { HistoryPage, TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import type { AskedTurn, CodeHost } from "./code-host.ts";
import { suspectLosses } from "./reaction-slots.ts";

/** The owner's side of a question. */
export interface TurnOwner {
  /** Undefined if the question is over, or its instance is quarantined because its history could not be read. */
  history(question: TurnQuestion, from: number): Promise<HistoryPage | undefined>;
  /** Called once, unless the question is withdrawn or given up. */
  onAnswer(answer: TurnAnswer, host: CodeHost | undefined): void;
  /** A host was lost that had the question. Returns false if the question is not to be asked again. */
  onLost(losses: number): boolean;
}

/** A question that is not answered yet: it waits for a host, or was put to one or more. */
export class OpenTurn implements AskedTurn {
  readonly question: TurnQuestion;
  /** Hosts that have the question. It has more than one if the first is out of touch. */
  readonly hosts = new Set<CodeHost>();
  readonly #owner: TurnOwner;
  readonly #onOver: (turn: OpenTurn) => void;
  /** Counts hosts that were lost while they had a question of this instance at this step. */
  losses: number;
  isOver = false;

  constructor(question: TurnQuestion, parts: { owner: TurnOwner; losses: number; onOver: (turn: OpenTurn) => void }) {
    this.question = question;
    this.#owner = parts.owner;
    this.losses = parts.losses;
    this.#onOver = parts.onOver;
  }

  get isSuspect(): boolean {
    return this.losses >= suspectLosses;
  }

  history(from: number): Promise<HistoryPage | undefined> {
    return this.#owner.history(this.question, from);
  }

  answer(answer: TurnAnswer): void {
    if (this.isOver) return;
    const [host] = this.hosts;
    this.end();
    this.#owner.onAnswer(answer, host);
  }

  /** False if the owner gives the question up. */
  noteLoss(): boolean {
    return this.#owner.onLost(++this.losses);
  }

  end(): void {
    this.isOver = true;
    this.#onOver(this);
  }
}

export interface AskOptions {
  readonly owner: TurnOwner;
  readonly losses: number;
  /** The host that answered last: the code is in its memory. */
  readonly warmHost: CodeHost | undefined;
}

/**
 * The hosts of code that are connected to this member, and the questions of its instances.
 *
 * - A question waits while no host that has the code is free. Those with fewer losses go first.
 * - A question with two losses is put to a host without any other question, which gets none beside it: code that ends its
 *   process costs no other instance a loss.
 * - A host that is out of touch keeps its questions, and each of them is put to one other host meanwhile. Its loss counts
 *   when it is certain.
 */
export class CodeHosts {
  readonly #onNew: (host: CodeHost) => void;
  readonly #turns = new Map<CodeHost, Set<OpenTurn>>();
  /** Questions that wait, by the code that they need. */
  readonly #waiting = new Map<string, Fifo<OpenTurn>>();
  readonly #suspects = new Set<OpenTurn>();
  /** Hosts that are out of touch. */
  readonly #unreachable = new Set<CodeHost>();
  /** A host that gets nothing more, until it has answered what it has and can take the first suspect. */
  #reserved: CodeHost | undefined;
  #waitingCount = 0;

  /** `onNew` is called with each host that has connected. */
  constructor(onNew: (host: CodeHost) => void = () => undefined) {
    this.#onNew = onNew;
  }

  /** The number of questions that wait for a host. */
  get waitingCount(): number {
    return this.#waitingCount + this.#suspects.size;
  }

  /** True if a connected host has the code, whether or not it is free. */
  hasCode(workflow: string, version: string): boolean {
    return [...this.#turns.keys()].some((host) => host.canRun(workflow, version));
  }

  ask(question: TurnQuestion, { owner, losses, warmHost }: AskOptions): OpenTurn {
    const turn = new OpenTurn(question, { owner, losses, onOver: (over) => this.#onOver(over) });
    const isWarm = warmHost !== undefined && this.#canTake(warmHost, turn);
    if (isWarm) this.#give(turn, warmHost);
    else this.#place(turn);
    return turn;
  }

  /** The owner does not want the answer any more. */
  withdraw(turn: OpenTurn): void {
    if (turn.isOver) return;
    for (const host of turn.hosts) host.withdraw(turn);
    turn.end();
  }

  /** A host has connected, has other code than before, or is free again. */
  onReady(host: CodeHost): void {
    if (!this.#turns.has(host)) {
      this.#turns.set(host, new Set());
      this.#onNew(host);
    }
    this.#unreachable.delete(host);
    for (const other of this.#unreachable) this.#moveFrom(other);
    this.#fill(host);
  }

  /** The host is out of touch: another one may answer instead. It keeps its questions for when it is back. */
  onUnreachable(host: CodeHost): void {
    if (!this.#turns.has(host)) return;
    this.#unreachable.add(host);
    this.#moveFrom(host);
  }

  #moveFrom(host: CodeHost): void {
    for (const turn of this.#turns.get(host) ?? []) {
      if (turn.hosts.size > 1 || turn.losses > 0) continue;
      const other = this.#choose(turn);
      if (other !== undefined) this.#give(turn, other);
    }
  }

  /** `lost`: the host may have been ended by the code. */
  remove(host: CodeHost, how: "lost" | "left"): void {
    const turns = this.#turns.get(host) ?? [];
    this.#turns.delete(host);
    this.#unreachable.delete(host);
    if (this.#reserved === host) this.#reserved = undefined;
    for (const turn of turns) {
      turn.hosts.delete(host);
      if (how === "lost" && !turn.noteLoss()) this.withdraw(turn);
      else if (turn.hosts.size === 0) this.#place(turn);
    }
    this.#placeSuspects();
  }

  #onOver(turn: OpenTurn): void {
    if (this.#suspects.delete(turn) && this.#suspects.size === 0) this.#reserved = undefined;
    for (const host of turn.hosts) {
      this.#turns.get(host)?.delete(turn);
      this.#fill(host);
    }
    turn.hosts.clear();
  }

  #place(turn: OpenTurn): void {
    if (turn.isOver) return;
    const host = this.#choose(turn);
    if (host !== undefined) return this.#give(turn, host);
    if (turn.isSuspect) {
      this.#suspects.add(turn);
      return this.#placeSuspects();
    }
    const key = keyOf(turn.question);
    let queue = this.#waiting.get(key);
    if (queue === undefined) this.#waiting.set(key, (queue = new Fifo()));
    queue.push(turn);
    this.#waitingCount++;
  }

  /** The host with the fewest questions of those that can take this one. */
  #choose(turn: OpenTurn): CodeHost | undefined {
    let best: CodeHost | undefined;
    for (const host of this.#turns.keys()) {
      if (turn.hosts.has(host) || !this.#canTake(host, turn)) continue;
      if (best === undefined || this.#count(host) < this.#count(best)) best = host;
    }
    return best;
  }

  #canTake(host: CodeHost, { question, isSuspect }: OpenTurn): boolean {
    const turns = this.#turns.get(host);
    if (turns === undefined || host.freeTurns < 1 || !host.canRun(question.workflow, question.version)) return false;
    if (isSuspect) return turns.size === 0;
    return host !== this.#reserved && ![...turns].some((other) => other.isSuspect);
  }

  #count(host: CodeHost): number {
    return this.#turns.get(host)?.size ?? 0;
  }

  #give(turn: OpenTurn, host: CodeHost): void {
    this.#turns.get(host)?.add(turn);
    turn.hosts.add(host);
    host.ask(turn);
  }

  /** Puts waiting questions to a host, as many as it takes. */
  #fill(host: CodeHost): void {
    if (!this.#turns.has(host)) return;
    for (const [key, queue] of this.#waiting) {
      while (queue.length > 0) {
        const turn = queue.peek() as OpenTurn;
        if (!turn.isOver && !this.#canTake(host, turn)) break;
        queue.take();
        this.#waitingCount--;
        if (!turn.isOver) this.#give(turn, host);
      }
      if (queue.length === 0) this.#waiting.delete(key);
      if (host.freeTurns < 1) break;
    }
    this.#placeSuspects();
  }

  #placeSuspects(): void {
    for (const turn of this.#suspects) {
      const host = this.#choose(turn);
      if (host === undefined) return this.#reserveFor(turn);
      this.#suspects.delete(turn);
      if (this.#reserved === host) this.#reserved = undefined;
      this.#give(turn, host);
    }
  }

  /** Without this, a host that is always busy would never be free for a suspect. */
  #reserveFor({ question }: OpenTurn): void {
    if (this.#reserved !== undefined) return;
    for (const host of this.#turns.keys()) {
      if (!host.canRun(question.workflow, question.version)) continue;
      if (this.#reserved === undefined || this.#count(host) < this.#count(this.#reserved)) this.#reserved = host;
    }
  }
}

function keyOf({ workflow, version }: TurnQuestion): string {
  return `${version} ${workflow}`;
}
