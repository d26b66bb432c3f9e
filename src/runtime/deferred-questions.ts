import type { Message } from "./message.ts";

/** Maximum of turns in which code may continue as new without answering, before its queries and updates are refused. */
const turnsWithoutAnswerMax = 100;

/**
 * Queries and updates that the code of an instance cannot answer yet: the workflow's maximum has not admitted the
 * instance, or the code is about to continue as new, and its next generation answers.
 */
export class DeferredQuestions {
  readonly #untilStarted: Message[] = [];
  readonly #untilNextTurn: Message[] = [];
  /** Counts consecutive turns in which the code continued as new twice before it could answer anything. */
  #turnsWithoutAnswer = 0;

  get isWaitingForStart(): boolean {
    return this.#untilStarted.length > 0;
  }

  /** True if the code continues as new without end and would never answer: its questions are not deferred any more. */
  get isOverdue(): boolean {
    return this.#turnsWithoutAnswer > turnsWithoutAnswerMax;
  }

  defer(message: Message, until: "start" | "next turn"): void {
    if (until === "start") this.#untilStarted.push(message);
    else this.#untilNextTurn.push(message);
  }

  /** Called when the code can answer. */
  onAnswerable(): void {
    this.#turnsWithoutAnswer = 0;
  }

  /** Removes those that the next turn tries again, in order. */
  takeForNextTurn(isStarted: boolean): Message[] {
    if (this.#untilNextTurn.length > 0) this.#turnsWithoutAnswer++;
    return [...this.#untilNextTurn.splice(0), ...(isStarted ? this.#untilStarted.splice(0) : [])];
  }

  takeAll(): Message[] {
    return [...this.#untilNextTurn.splice(0), ...this.#untilStarted.splice(0)];
  }
}
