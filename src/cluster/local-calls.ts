import type { Clock, Timer } from "../base/clock.ts";

interface LocalCall {
  /** Monotonic time at which the call is given up. */
  readonly until: number;
  readonly giveUp: (reason: unknown) => void;
  readonly onTime: () => unknown;
}

/**
 * Calls to shards of this very member, which carries them out itself. Most calls are local, so they share one timer, which
 * is set for the call that is given up first.
 */
export class LocalCalls {
  readonly #clock: Clock;
  readonly #calls = new Set<LocalCall>();
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Settles as the work does, unless the timeout passes first, or all calls are rejected. */
  bound<T>(work: Promise<T>, options: { timeoutMs: number; onTime: () => unknown }): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const { timeoutMs, onTime } = options;
    const call: LocalCall = { until: this.#clock.monotonic() + timeoutMs, giveUp: reject, onTime };
    this.#calls.add(call);
    if (call.until < this.#timerAt) this.#setTimer(call.until);
    work.then(
      (value) => {
        this.#calls.delete(call);
        resolve(value);
      },
      (error: unknown) => {
        this.#calls.delete(call);
        reject(error);
      },
    );
    return promise;
  }

  rejectAll(reason: unknown): void {
    for (const { giveUp } of this.#calls) giveUp(reason);
    this.#calls.clear();
    this.#setTimer(Infinity);
  }

  #setTimer(at: number): void {
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer =
      at === Infinity
        ? undefined
        : this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#giveUpOverdue());
  }

  #giveUpOverdue(): void {
    const now = this.#clock.monotonic();
    let next = Infinity;
    for (const call of this.#calls) {
      if (call.until > now) next = Math.min(next, call.until);
      else {
        this.#calls.delete(call);
        call.giveUp(call.onTime());
      }
    }
    this.#setTimer(next);
  }
}
