import { Fifo } from "../base/fifo.ts";
import type { HistoryPage, TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import type { AskedTurn, CodeHost, GivenBack } from "./code-host.ts";
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

interface OpenTurnListener {
  readonly onOver: (turn: OpenTurn) => void;
  readonly onGivenBack: (turn: OpenTurn, host: CodeHost, why: GivenBack) => void;
}

/** A question that is not answered yet: it waits for a host, or was put to one or more. */
export class OpenTurn implements AskedTurn {
  readonly question: TurnQuestion;
  readonly key: number;
  /** True for a question of another member, which only hosts of this one answer. */
  readonly isForeign: boolean;
  /** Hosts that have the question. It has more than one if the first is out of touch. */
  readonly hosts = new Set<CodeHost>();
  readonly #owner: TurnOwner;
  readonly #listener: OpenTurnListener;
  losses: number;
  isOver = false;

  constructor(question: TurnQuestion, options: AskOptions, listener: OpenTurnListener) {
    this.question = question;
    this.key = options.key;
    this.isForeign = options.isForeign === true;
    this.#owner = options.owner;
    this.losses = options.losses;
    this.#listener = listener;
  }

  get isSuspect(): boolean {
    return this.losses >= suspectLosses;
  }

  history(from: number): Promise<HistoryPage | undefined> {
    return this.#owner.history(this.question, from);
  }

  answer(answer: TurnAnswer, by?: CodeHost): void {
    if (this.isOver) return;
    const [first] = this.hosts;
    const host = by ?? first;
    // Others repeat the question until they hear that it is over. A worker that gets it when it is back may wait for a
    // history that is gone.
    for (const other of this.hosts) if (other !== host) other.withdraw(this);
    this.end();
    this.#owner.onAnswer(answer, host);
  }

  giveBack(host: CodeHost, why: GivenBack): void {
    if (!this.isOver && this.hosts.has(host)) this.#listener.onGivenBack(this, host, why);
  }

  /** False if the owner gives the question up. */
  noteLoss(): boolean {
    return this.#owner.onLost(++this.losses);
  }

  end(): void {
    this.isOver = true;
    this.#listener.onOver(this);
  }
}

export interface AskOptions {
  readonly owner: TurnOwner;
  /** The instance's key. */
  readonly key: number;
  readonly isForeign?: boolean;
  readonly losses: number;
  /** The host that answered last: the code is in its memory. */
  readonly warmHost: CodeHost | undefined;
}

/** The code that a question needs. */
export type NeededCode = Pick<TurnQuestion, "workflow" | "version">;

/**
 * The hosts of code that are connected to this member, other members that have some, and the questions of its instances.
 *
 * - A question waits while no host that has the code is free. Those with fewer losses go first.
 * - A question with two losses is put to a host without any other question, which gets none beside it: code that ends its
 *   process costs no other instance a loss.
 * - A host that is out of touch keeps its questions, and each of them is put to one other host meanwhile. Its loss counts
 *   when it is certain.
 * - Hosts of this member come before other members, which put a question to hosts of their own and keep suspects apart
 *   there.
 */
export class CodeHosts {
  readonly #onNew: (host: CodeHost) => void;
  readonly #onWaiting: () => void;
  readonly #turns = new Map<CodeHost, Set<OpenTurn>>();
  /** Questions that wait, by the code that they need. */
  readonly #waiting = new Map<string, Fifo<OpenTurn>>();
  readonly #suspects = new Set<OpenTurn>();
  /** Hosts that are out of touch. */
  readonly #unreachable = new Set<CodeHost>();
  /** Questions that another member has put to a host that is out of touch there. */
  readonly #stalled = new Set<OpenTurn>();
  /** A host that gets nothing more, until it has answered what it has and can take the first suspect. */
  #reserved: CodeHost | undefined;
  #waitingCount = 0;
  #connections = 0;
  readonly #listener: OpenTurnListener = {
    onOver: (turn) => this.#onOver(turn),
    onGivenBack: (turn, host, why) => this.#onGivenBack(turn, host, why),
  };

  /** `onNew` is called with each host that has connected, `onWaiting` when a question has to wait for one. */
  constructor(onNew: (host: CodeHost) => void = () => undefined, onWaiting: () => void = () => undefined) {
    this.#onNew = onNew;
    this.#onWaiting = onWaiting;
  }

  /** The number of questions that wait for a host. */
  get waitingCount(): number {
    return this.#waitingCount + this.#suspects.size;
  }

  /** True if a connected host has the code, whether or not it is free. */
  hasCode(workflow: string, version: string): boolean {
    return [...this.#turns.keys()].some((host) => host.canRun(workflow, version));
  }

  /** As `hasCode`, of the hosts of this member alone. */
  hasOwnCode({ workflow, version }: NeededCode): boolean {
    return this.#own.some((host) => host.canRun(workflow, version));
  }

  /** The number of hosts of this member that have connected so far; 0 while none is connected. */
  get connections(): number {
    return this.#own.length === 0 ? 0 : this.#connections;
  }

  /** The number of questions that the hosts of this member take in addition. */
  get freeTurns(): number {
    return this.#own.reduce((sum, { freeTurns }) => sum + freeTurns, 0);
  }

  get #own(): CodeHost[] {
    return [...this.#turns.keys()].filter(({ isElsewhere }) => isElsewhere !== true);
  }

  /** The code that questions of this member's instances need which no host has, or only hosts that are out of touch. */
  get needed(): NeededCode[] {
    const unreached = [...this.#unreachable].flatMap((host) => [...(this.#turns.get(host) ?? [])]);
    const alone = [...unreached, ...this.#stalled].filter(({ hosts, losses }) => hosts.size === 1 && losses === 0);
    const waiting = [...this.#waiting.values()].flatMap((queue) => this.#headOf(queue) ?? []);
    const needed = new Map<string, NeededCode>();
    for (const { question, isForeign } of [...waiting, ...this.#suspects, ...alone])
      if (!isForeign) needed.set(keyOf(question), { workflow: question.workflow, version: question.version });
    return [...needed.values()];
  }

  ask(question: TurnQuestion, options: AskOptions): OpenTurn {
    const { warmHost } = options;
    const turn = new OpenTurn(question, options, this.#listener);
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
      if (host.isElsewhere !== true) this.#connections++;
      this.#onNew(host);
    }
    this.#unreachable.delete(host);
    for (const other of this.#unreachable) this.#moveFrom(other);
    for (const turn of this.#stalled) this.#move(turn);
    this.#fill(host);
  }

  /** The host is out of touch: another one may answer instead. It keeps its questions for when it is back. */
  onUnreachable(host: CodeHost): void {
    if (!this.#turns.has(host)) return;
    this.#unreachable.add(host);
    this.#moveFrom(host);
  }

  #moveFrom(host: CodeHost): void {
    for (const turn of this.#turns.get(host) ?? []) this.#move(turn);
  }

  /** Puts a question to another host as well, because the one that has it is out of touch. */
  #move(turn: OpenTurn): void {
    if (turn.hosts.size > 1 || turn.losses > 0) return;
    const other = this.#choose(turn);
    if (other !== undefined) this.#give(turn, other);
    else this.#onWaiting();
  }

  /** True if all hosts that have the question are out of touch. */
  isStalled({ hosts }: OpenTurn): boolean {
    return hosts.size > 0 && [...hosts].every((host) => this.#unreachable.has(host));
  }

  #onGivenBack(turn: OpenTurn, host: CodeHost, why: GivenBack): void {
    if (why === "stalled") {
      this.#stalled.add(turn);
      return this.#move(turn);
    }
    this.#stalled.delete(turn);
    this.#turns.get(host)?.delete(turn);
    turn.hosts.delete(host);
    if (why === "lost" && !turn.noteLoss()) this.withdraw(turn);
    else if (turn.hosts.size === 0) this.#place(turn);
    this.#fill(host);
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
    this.#stalled.delete(turn);
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
    this.#onWaiting();
    if (turn.isSuspect) {
      this.#suspects.add(turn);
      return this.#placeSuspects();
    }
    const key = `${keyOf(turn.question)} ${turn.isForeign}`;
    let queue = this.#waiting.get(key);
    if (queue === undefined) this.#waiting.set(key, (queue = new Fifo()));
    queue.push(turn);
    this.#waitingCount++;
  }

  /** The host with the fewest questions of those that can take this one, one of this member if there is one. */
  #choose(turn: OpenTurn): CodeHost | undefined {
    let best: CodeHost | undefined;
    for (const host of this.#turns.keys()) {
      if (turn.hosts.has(host) || !this.#canTake(host, turn)) continue;
      if (best === undefined || this.#rank(host) < this.#rank(best)) best = host;
    }
    return best;
  }

  #rank(host: CodeHost): number {
    return this.#count(host) + (host.isElsewhere === true ? 1e9 : 0);
  }

  #canTake(host: CodeHost, { question, isSuspect, isForeign }: OpenTurn): boolean {
    const turns = this.#turns.get(host);
    if (turns === undefined || host.freeTurns < 1 || !host.canRun(question.workflow, question.version)) return false;
    if (host.isElsewhere === true) return !isForeign;
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
      for (let turn = this.#headOf(queue); turn !== undefined && this.#canTake(host, turn);) {
        queue.take();
        this.#waitingCount--;
        this.#give(turn, host);
        turn = this.#headOf(queue);
      }
      if (queue.length === 0) this.#waiting.delete(key);
      if (host.freeTurns < 1) break;
    }
    this.#placeSuspects();
  }

  /** The first question of a queue that is not over. */
  #headOf(queue: Fifo<OpenTurn>): OpenTurn | undefined {
    while (queue.peek()?.isOver === true) {
      queue.take();
      this.#waitingCount--;
    }
    return queue.peek();
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
    for (const host of this.#own) {
      if (!host.canRun(question.workflow, question.version)) continue;
      if (this.#reserved === undefined || this.#count(host) < this.#count(this.#reserved)) this.#reserved = host;
    }
  }
}

function keyOf({ workflow, version }: TurnQuestion): string {
  return `${version} ${workflow}`;
}
