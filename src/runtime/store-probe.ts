import type { Clock, Timer } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Store } from "../stores/store.ts";

/** With the time of the probe itself, an idle engine notices a problem within 2 seconds. */
const everyMs = 1500;

export interface StoreProbeParts {
  readonly store: Pick<Store, "verify">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reads the shards, which shows that the store was rolled back. */
  readonly view: () => Promise<unknown>;
  /** Called with the problem when it appears, and with undefined when it is over. */
  readonly onHealth: (problem: unknown) => void;
}

/**
 * Asks a store with files at regular times whether they are still there, and reads its shards: an engine that has nothing
 * to write notices too. Members of a cluster have their heartbeats for that.
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
    const { store, logger, view, onHealth } = this.#parts;
    let problem: unknown;
    try {
      await store.verify?.();
      await view();
    } catch (error) {
      problem = error;
    }
    if (this.#isStopped || hasCode(problem, "STORE_ROLLED_BACK")) return;
    // A commit meets the same problem, and is sent again until it is over.
    if (hasCode(problem, "STORE_UNAVAILABLE")) return this.start();
    this.start();
    if ((problem !== undefined) === this.#isFailing) return;
    this.#isFailing = problem !== undefined;
    if (problem === undefined) logger.warn({}, "the database file is back; new work is taken again");
    else logger.error({ error: messageOf(problem) }, "the database file is gone; no new work is taken");
    onHealth(problem);
  }
}
