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

  /** Bounds a query: `QUERY_TIMEOUT`. */
  async query<Value>(query: Promise<Value>, ms = queryMs): Promise<Value> {
    return await this.#bound(query, ms, () => new HttpError("QUERY_TIMEOUT", "Query timeout"));
  }

  /** Bounds a change: `DEADLINE_EXCEEDED` if it is neither committed nor refused by then. It may still be committed. */
  async change<Value>(change: Promise<Value>, ms: number): Promise<Value> {
    const message = `the change was not made within ${ms / 1000} seconds, and may still be: look before you ask again`;
    return await this.#bound(change, ms, () => new HttpError("DEADLINE_EXCEEDED", message));
  }

  /** Cancels all timers; connections are closed by now. */
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
