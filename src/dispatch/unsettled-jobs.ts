import type { Clock } from "../base/clock.ts";
import type { Attempt } from "./attempt.ts";

/** Jobs that were called and have not settled, among them those that ignore their signal and hold no slot any more. */
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

  /** Those whose attempt is over: timed out, or told to stop. */
  abandoned(): Attempt[] {
    return [...this.#attempts].filter((attempt) => attempt.state === "over");
  }

  /** Resolves when all have settled, or after the grace. */
  async whenSettled(clock: Clock, graceMs: number): Promise<void> {
    if (this.#attempts.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSettled = resolve;
    const grace = clock.after(graceMs, resolve);
    await promise;
    grace.cancel();
  }
}
