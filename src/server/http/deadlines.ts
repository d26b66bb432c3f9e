import type { Clock, Timer } from "../../base/clock.ts";
import { HttpError } from "../request/http-error.ts";

const queryMs = 5000;

/** Bounds how long a request may wait. After `stop`, requests that were left without an answer hold no timer, and so no process. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `QUERY_TIMEOUT` for a query that takes longer than a person waits for. */
  async query<Value>(query: Promise<Value>, ms = queryMs): Promise<Value> {
    return await this.#bound(query, ms, () => new HttpError("QUERY_TIMEOUT", "Query timeout"));
  }

  /** `DEADLINE_EXCEEDED` for a change that is neither made nor refused by then. It may still be made. */
  async change<Value>(change: Promise<Value>, ms: number): Promise<Value> {
    const message = `the change was not made within ${ms / 1000} seconds, and may still be: look before you ask again`;
    return await this.#bound(change, ms, () => new HttpError("DEADLINE_EXCEEDED", message));
  }

  /** Connections are closed by now: nobody is there to hear that it took too long. */
  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  async #bound<Value>(work: Promise<Value>, ms: number, errorOf: () => HttpError): Promise<Value> {
    const late = Promise.withResolvers<never>();
    const timer = this.#clock.after(ms, () => late.reject(errorOf()));
    this.#timers.add(timer);
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      timer.cancel();
      this.#timers.delete(timer);
    }
  }
}
