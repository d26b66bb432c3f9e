import type { Logger } from "../base/logger.ts";

/** Real time without news after which a result is not going to come by itself. */
const quietMs = 1000;

export interface ResultHintParts {
  readonly logger: Logger;
  /** A test lets time pass, or a job runs: the result may come by itself. */
  readonly isMoving: () => boolean;
  /** When the first instance wants to be woken, epoch ms. */
  readonly nextWake: () => Promise<number | undefined>;
}

interface Waiting {
  readonly instanceId: string;
  isOver: boolean;
  timer?: NodeJS.Timeout;
}

/**
 * Tells a test why it hangs: it waits for a result that only time can bring, and the clock of a test engine stands still.
 * Says so once. Its timer is real, and keeps the process alive for as long as it takes to find out.
 */
export class ResultHint {
  readonly #parts: ResultHintParts;
  readonly #waiting = new Set<Waiting>();
  #isOver = false;

  constructor(parts: ResultHintParts) {
    this.#parts = parts;
  }

  /** Gives back what the promise gives. */
  async watch<T>(instanceId: string, result: Promise<T>): Promise<T> {
    const waiting: Waiting = { instanceId, isOver: false };
    this.#waiting.add(waiting);
    this.#lookLater(waiting);
    try {
      return await result;
    } finally {
      this.#end(waiting);
    }
  }

  /** Says nothing from now on. */
  stop(): void {
    this.#isOver = true;
    for (const waiting of this.#waiting) this.#end(waiting);
  }

  #end(waiting: Waiting): void {
    waiting.isOver = true;
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
  }

  #lookLater(waiting: Waiting): void {
    if (!this.#isOver) waiting.timer = setTimeout(() => void this.#look(waiting), quietMs);
  }

  async #look(waiting: Waiting): Promise<void> {
    const { logger, isMoving, nextWake } = this.#parts;
    if (isMoving()) return this.#lookLater(waiting);
    const wake = await nextWake();
    if (wake === undefined || waiting.isOver || this.#isOver) return;
    this.stop();
    logger.warn(
      { instanceId: waiting.instanceId, nextWakeAt: new Date(wake).toISOString() },
      "a result is waited for that only time can bring, and the clock of a test engine stands still: use await clock.until(run.result()), or let time pass with clock.advance(ms)",
    );
  }
}
