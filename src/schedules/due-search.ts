import { EngineError } from "../base/error.ts";
import { durationMsMax } from "../base/time-limits.ts";

/** Maximum of steps of one search; a walk over every day of the horizon takes fewer. */
const stepsMax = 50_000;

/** Bounds the search for one due time, by a horizon and a number of steps, so that every search ends soon. */
export class DueSearch {
  /** Epoch ms. Nothing after it is looked for. */
  readonly until: number;
  #steps = 0;

  constructor(until: number) {
    this.until = until;
  }

  /** The rarest pattern comes within 40 years; Quartz looks ahead for a century too. */
  static from(after: number): DueSearch {
    return new DueSearch(after + durationMsMax);
  }

  get steps(): number {
    return this.#steps;
  }

  /** Counts a step of the search: one day, or one clock change. `SCHEDULE_INVALID` after too many. */
  countStep(): void {
    this.#steps += 1;
    if (this.#steps <= stepsMax) return;
    throw new EngineError("SCHEDULE_INVALID", `its next due time was not found within ${stepsMax} steps`);
  }
}
