import type { Clock } from "../base/clock.ts";

/**
 * Tells when everything has happened that promises settled by now lead to. Only then is it sure what the code of a
 * workflow did about an arrival. Those who ask at the same time share one turn of the event loop.
 */
export class Drain {
  readonly #clock: Clock;
  #next: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(): Promise<void> {
    return (this.#next ??= new Promise((resolve) => {
      this.#clock.soon(() => {
        this.#next = undefined;
        resolve();
      });
    }));
  }
}
