import type { Clock } from "../base/clock.ts";

/**
 * Tells when everything has happened that promises settled by now lead to. Only then is it sure what the code of a
 * workflow did about an arrival. Those who ask at the same time share one turn of the event loop.
 */
export class Drain {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) this.#clock.soon(() => this.#release());
    });
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
