import type { Logger } from "../base/logger.ts";
import { messageOf } from "../base/error.ts";
import type { HistoryPage, TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import type { History, TurnAsked, WorkerMessage, WorkflowDetails } from "../dispatch/session-message.ts";

/** Runs the code of workflows. */
export interface CodeAnswerer {
  readonly workflows: readonly WorkflowDetails[];
  /** Maximum of questions at a time. */
  readonly turnsMax: number;
  answer(question: TurnQuestion, read: (from: number) => Promise<HistoryPage>): Promise<TurnAnswer>;
}

interface Read {
  readonly from: number;
  readonly resolve: (page: HistoryPage) => void;
  readonly reject: (error: Error) => void;
}

interface Open {
  read: Read | undefined;
}

/** The questions about code that a worker was asked over its present connection. Those of earlier ones are asked again. */
export class AskedTurns {
  readonly #code: CodeAnswerer;
  readonly #logger: Logger;
  readonly #send: (message: WorkerMessage) => void;
  readonly #open = new Map<number, Open>();

  constructor(parts: { code: CodeAnswerer; logger: Logger; send: (message: WorkerMessage) => void }) {
    this.#code = parts.code;
    this.#logger = parts.logger;
    this.#send = parts.send;
  }

  get numbers(): readonly number[] {
    return [...this.#open.keys()];
  }

  onReconnect(): void {
    for (const turn of this.#open.keys()) this.#close(turn);
  }

  /** The code waits for no history that will not come: the next question about its instance would wait behind it. */
  #close(turn: number): void {
    const open = this.#open.get(turn);
    this.#open.delete(turn);
    open?.read?.reject(new Error("the question is not open any more"));
  }

  onAsked({ turn, question }: TurnAsked): void {
    if (this.#open.has(turn)) return;
    const open: Open = { read: undefined };
    this.#open.set(turn, open);
    const { generation, events, steps } = question;
    const isOpen = (): boolean => this.#open.get(turn) === open;
    const read = (from: number): Promise<HistoryPage> => {
      if (!isOpen()) return Promise.reject(new Error("the question is not open any more"));
      const { promise, resolve, reject } = Promise.withResolvers<HistoryPage>();
      open.read = { from, resolve, reject };
      this.#send({ type: "HistoryAsked", turn, from });
      return promise;
    };
    this.#code.answer(question, read).then(
      (answer) => {
        if (!isOpen()) return;
        this.#open.delete(turn);
        this.#send({ type: "TurnAnswered", turn, generation, events, steps, answer });
      },
      (error: unknown) =>
        this.#logger.error({ error: messageOf(error) }, "a question about code could not be answered"),
    );
  }

  onHistory({ turn, from, page }: History): void {
    const open = this.#open.get(turn);
    if (open?.read?.from !== from) return;
    const { resolve } = open.read;
    open.read = undefined;
    resolve(page);
  }

  onWithdrawn(turn: number): void {
    this.#close(turn);
  }

  /** Asks again for parts of histories that have not come. */
  repeatReads(): void {
    for (const [turn, { read }] of this.#open) {
      if (read !== undefined) this.#send({ type: "HistoryAsked", turn, from: read.from });
    }
  }
}
