import type { Clock } from "../base/clock.ts";

/** Wants to know when everything has happened that promises settled by now lead to. It throws nothing. */
export interface Drained {
  drained(): void;
}

/**
 * Tells when everything has happened that promises settled by now lead to. Only then is it sure what the code of a
 * workflow did about an arrival. Those who ask at the same time share one turn of the event loop.
 */
export class Drain {
  readonly #clock: Clock;
  #waiting: Drained[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(waiting: Drained): void {
    if (this.#waiting.push(waiting) === 1) this.#clock.soon(() => this.#tellAll());
  }

  #tellAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) each.drained();
  }
}
