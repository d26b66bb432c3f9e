import type { Clock } from "../base/clock.ts";
import type { Attempt } from "./attempt.ts";

/** Jobs that were called and have not settled, including those that ignore their abort signal and have no slot any more. */
export class UnsettledJobs {
  readonly #attempts = new Set<Attempt>();
  #onSettled: (() => void) | undefined;

  add(attempt: Attempt): void {
    this.#attempts.add(attempt);
  }

  delete(attempt: Attempt): void {
    this.#attempts.delete(attempt);
    if (this.#attempts.size === 0) this.#onSettled?.();
  }

  /** Attempts that are over, because they timed out or were aborted, and whose jobs have not settled. */
  abandoned(): Attempt[] {
    return [...this.#attempts].filter((attempt) => attempt.state === "over");
  }

  /** Resolves when all have settled, or after the grace period. */
  async whenSettled(clock: Clock, graceMs: number): Promise<void> {
    if (this.#attempts.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSettled = resolve;
    const grace = clock.after(graceMs, resolve);
    await promise;
    grace.cancel();
  }
}
