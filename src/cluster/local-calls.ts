import type { Clock, Timer } from "../base/clock.ts";

interface OwnCall {
  /** On the monotonic clock. */
  readonly until: number;
  readonly giveUp: (reason: unknown) => void;
  readonly onTime: () => unknown;
}

/**
 * Calls to shards of this very member, which carries them out itself. Most calls are such, so they have no timer each:
 * one is set for whichever is given up first.
 */
export class LocalCalls {
  readonly #clock: Clock;
  readonly #calls = new Set<OwnCall>();
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Settles as the work does, unless time is up before, or all calls are rejected. */
  watch(work: Promise<unknown>, options: { timeoutMs: number; onTime: () => unknown }): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { timeoutMs, onTime } = options;
    const call: OwnCall = { until: this.#clock.monotonic() + timeoutMs, giveUp: reject, onTime };
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
