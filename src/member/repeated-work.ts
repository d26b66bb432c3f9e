import type { Clock, Timer } from "../base/clock.ts";

/** Work of a member that is done again and again. */
export class RepeatedWork {
  readonly #clock: Clock;
  readonly #timers: Timer[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Each pause begins with the work before it. */
  every(pauseMs: () => number, work: () => void): void {
    const place = this.#timers.length;
    const again = (): void => {
      this.#timers[place] = this.#clock.after(pauseMs(), () => {
        again();
        work();
      });
    };
    again();
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}
