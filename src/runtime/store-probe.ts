import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Store } from "../stores/store.ts";

const everyMs = 2000;

export interface StoreProbeParts {
  readonly store: Pick<Store, "verify">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the problem when it appears, and with undefined when it is over. */
  readonly onHealth: (problem: unknown) => void;
}

/**
 * Asks the store at regular times whether its files are still there: an engine that has nothing to write notices too.
 */
export class StoreProbe {
  readonly #parts: StoreProbeParts;
  #timer: Timer | undefined;
  #isFailing = false;
  #isStopped = false;

  constructor(parts: StoreProbeParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#parts.store.verify === undefined) return;
    this.#timer = this.#parts.clock.after(everyMs, () => void this.#probe());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #probe(): Promise<void> {
    const { store, logger, onHealth } = this.#parts;
    let problem: unknown;
    try {
      await store.verify?.();
    } catch (error) {
      problem = error;
    }
    if (this.#isStopped) return;
    this.start();
    if ((problem !== undefined) === this.#isFailing) return;
    this.#isFailing = problem !== undefined;
    if (problem === undefined) logger.warn({}, "the database file is back; new work is taken again");
    else logger.error({ error: messageOf(problem) }, "the database file is gone; no new work is taken");
    onHealth(problem);
  }
}
