import { qualify } from "../base/namespace.ts";
import type { AskedTurn, CodeHost, HostedWorkflow } from "./code-host.ts";
import type { CodeHosts } from "./code-hosts.ts";
import type { HistoryAsked, MemberMessage, TurnAnswered, WorkflowDetails } from "./session-message.ts";

/** What a member does with the code workflows of its workers. */
export interface SessionCode {
  readonly hosts: CodeHosts;
  /** Resolves when the workflows can be started, and nested by others. */
  announce(workflows: readonly WorkflowDetails[], namespace: string): Promise<void>;
  /** Learns of the workflows that were announced to other members. */
  learn(): Promise<void>;
}

/** The session, as far as questions about code need it. */
export interface TurnSession {
  readonly address: string;
  readonly namespace: string;
  readonly isReachable: boolean;
  readonly isDraining: boolean;
  readonly isOver: boolean;
  send(message: MemberMessage): void;
}

/** A worker that reads more slowly than this many bytes gather is sent neither questions nor histories: it has them repeated. */
const bufferedBytesMax = 32 * 1024 * 1024;

/**
 * The questions about code that a remote worker has. A question has a number, and is sent again after a new hello, and with
 * each heartbeat that does not list it, until it is answered.
 */
export class SessionTurns implements CodeHost {
  readonly #session: TurnSession;
  readonly #code: SessionCode;
  /** Bytes that wait until the worker reads them. */
  readonly #bufferedBytes: () => number;
  readonly #asked = new Map<number, AskedTurn>();
  readonly #numbers = new Map<AskedTurn, number>();
  /** Questions whose history is being read for the worker. */
  readonly #reading = new Set<AskedTurn>();
  #workflows = new Set<string>();
  #max = 0;
  #last = 0;
  /** True once its workflows are recorded. */
  #isReady = false;

  constructor(session: TurnSession, code: SessionCode, bufferedBytes: () => number) {
    this.#session = session;
    this.#code = code;
    this.#bufferedBytes = bufferedBytes;
  }

  get address(): string {
    return this.#session.address;
  }

  get freeTurns(): number {
    const { isReachable, isDraining } = this.#session;
    return isReachable && !isDraining && this.#isReady ? Math.max(0, this.#max - this.#asked.size) : 0;
  }

  canRun(workflow: string, version: string): boolean {
    return this.#workflows.has(keyOf(workflow, version));
  }

  ask(turn: AskedTurn): void {
    const number = ++this.#last;
    this.#asked.set(number, turn);
    this.#numbers.set(turn, number);
    this.#send(number, turn);
  }

  withdraw(turn: AskedTurn): void {
    const number = this.#numbers.get(turn);
    if (number === undefined) return;
    this.#forget(number, turn);
    this.#session.send({ type: "TurnWithdrawn", turn: number });
  }

  /** The worker has connected, or has other workflows than before. Returns these. */
  onHello({
    workflows = [],
    turns = 0,
  }: {
    workflows?: readonly WorkflowDetails[];
    turns?: number;
  }): readonly HostedWorkflow[] {
    const { namespace } = this.#session;
    this.#max = turns;
    this.#workflows = new Set(workflows.map(({ name, version }) => keyOf(qualify(namespace, name), version)));
    for (const [number, turn] of this.#asked) this.#send(number, turn);
    if (workflows.length > 0) {
      void this.#code.announce(workflows, namespace).then(() => {
        this.#isReady = true;
        this.onFree();
      });
    }
    return workflows.map(({ name, version }) => ({ name, version }));
  }

  /** It may take more questions than before. */
  onFree(): void {
    if (this.#isReady && !this.#session.isOver) this.#code.hosts.onReady(this);
  }

  onHeartbeat(turns: readonly number[]): void {
    const listed = new Set(turns);
    for (const [number, turn] of this.#asked) if (!listed.has(number)) this.#send(number, turn);
    this.onFree();
  }

  onLinkClosed(): void {
    this.#code.hosts.onUnreachable(this);
  }

  onAnswered({ turn: number, generation, events, steps, answer }: TurnAnswered): void {
    const turn = this.#asked.get(number);
    if (turn === undefined) return;
    const { question } = turn;
    if (question.generation !== generation || question.events !== events || question.steps !== steps) return;
    this.#forget(number, turn);
    turn.answer(answer, this);
  }

  async onHistoryAsked({ turn: number, from }: HistoryAsked): Promise<void> {
    const turn = this.#asked.get(number);
    // A question that was sent twice, and answered before its second copy came.
    if (turn === undefined) return this.#session.send({ type: "TurnWithdrawn", turn: number });
    if (this.#reading.has(turn) || this.#isCongested) return;
    this.#reading.add(turn);
    try {
      const page = await turn.history(from);
      if (page === undefined || this.#asked.get(number) !== turn) return;
      this.#session.send({ type: "History", turn: number, from, page });
    } finally {
      this.#reading.delete(turn);
    }
  }

  get #isCongested(): boolean {
    return this.#bufferedBytes() > bufferedBytesMax;
  }

  /** The session is over. */
  end(how: "lost" | "left"): void {
    this.#asked.clear();
    this.#numbers.clear();
    this.#code.hosts.remove(this, how);
  }

  #forget(number: number, turn: AskedTurn): void {
    this.#asked.delete(number);
    this.#numbers.delete(turn);
  }

  #send(turn: number, { question }: AskedTurn): void {
    if (!this.#isCongested) this.#session.send({ type: "TurnAsked", turn, question });
  }
}

function keyOf(workflow: string, version: string): string {
  return `${version} ${workflow}`;
}
