import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { AskingAttempt, AttemptAnswer, AttemptQuestion, ResultsPage } from "../dispatch/attempt-question.ts";
import type { CallClient } from "../runtime/call-client.ts";
import { readItems } from "../runtime/read-items.ts";
import type { Store } from "../stores/store.ts";

/** The delay between two tries while the owner of an instance, or the store, does not answer. */
const askAgainMs = 500;
const resultsPerPage = 200;
/** A page ends with the result that passes this size. */
const pageLengthMax = 2 * 1024 * 1024;

export interface AttemptDeskParts {
  readonly clock: Clock;
  readonly store: Store;
  readonly calls: CallClient;
  readonly isOver: () => boolean;
}

/** Answers the questions of running jobs, whichever member owns their instance. */
export class AttemptDesk {
  readonly #parts: AttemptDeskParts;

  constructor(parts: AttemptDeskParts) {
    this.#parts = parts;
  }

  /** Repeats the question until it is answered, or refused for good. */
  async ask(attempt: AskingAttempt, question: AttemptQuestion): Promise<AttemptAnswer> {
    const { clock, isOver } = this.#parts;
    for (;;) {
      try {
        return await this.#answer(attempt, question);
      } catch (error) {
        if (!(error instanceof EngineError) || !error.retryable || isOver()) throw error;
        await new Promise<void>((resolve) => clock.after(askAgainMs, resolve));
      }
    }
  }

  async #answer(attempt: AskingAttempt, question: AttemptQuestion): Promise<AttemptAnswer> {
    if (question.type === "ListResults") return await this.#listResults(attempt, question.from);
    const { instanceId: id, task, attempt: number, generation } = attempt;
    await this.#parts.calls.callInstance({ ...question, id, task, attempt: number, generation });
    return { areDurable: true };
  }

  async #listResults({ instanceId: id, task }: AskingAttempt, from: number): Promise<ResultsPage> {
    const { calls, store } = this.#parts;
    const filter = { from, limit: resultsPerPage };
    const { key, ...places } = await calls.callInstance({ type: "GetItems", id, task, ...filter });
    const { items, next } = await readItems(store, { id, key }, places, { lengthMax: pageLengthMax });
    return {
      items: items.map(({ index, item, status, output, failure }) => ({
        index,
        item,
        status,
        ...(output !== undefined && { output }),
        ...(failure !== undefined && { failure }),
      })),
      ...(next !== undefined && { next }),
    };
  }
}
