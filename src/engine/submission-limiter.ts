import type { Clock } from "../base/clock.ts";

/** Maximum number of submissions in progress; more would gain nothing, because they share commits. */
export const submissionsMax = 1000;

/**
 * Back-pressure for submissions. Those above the limit wait in order, and the next start in a later tick of the event
 * loop, so that a caller that submits without awaiting does not starve anything else.
 */
export class SubmissionLimiter {
  readonly #clock: Clock;
  #underWay = 0;
  #waiting: (() => void)[] = [];
  /** Index of the first that waits: removing it from the front of a long list would copy the list. */
  #next = 0;
  #isStartPlanned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Admits a submission: at once if undefined, otherwise when the promise resolves. */
  enter(): Promise<void> | undefined {
    if (this.#underWay >= submissionsMax) return new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#underWay++;
    return undefined;
  }

  /** Called once for each submission that was admitted, when it has ended. */
  leave(): void {
    this.#underWay--;
    this.#startWaitingSoon();
  }

  #startWaitingSoon(): void {
    if (this.#isStartPlanned || this.#next === this.#waiting.length) return;
    this.#isStartPlanned = true;
    this.#clock.soon(() => {
      this.#isStartPlanned = false;
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    while (this.#underWay < submissionsMax && this.#next < this.#waiting.length) {
      this.#underWay++;
      this.#waiting[this.#next++]?.();
    }
    if (this.#next < this.#waiting.length) return;
    this.#waiting = [];
    this.#next = 0;
  }
}
