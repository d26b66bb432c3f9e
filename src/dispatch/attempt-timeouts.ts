import type { Clock } from "../base/clock.ts";
import type { Attempt } from "./attempt.ts";

/**
 * The timeouts of running attempts. A timeout counts from the job's own start, not from the wait for a slot or for
 * `confirmStart`. No attempt times out while its remote worker is unreachable: the worker reconnects, or the attempt is lost
 * with it.
 */
export class AttemptTimeouts {
  readonly #clock: Clock;
  readonly #onExpired: (attempt: Attempt) => void;

  constructor(clock: Clock, onExpired: (attempt: Attempt) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  /** Does nothing if it is armed already, or its job has not started. */
  arm(attempt: Attempt): void {
    const { timeoutMs } = attempt.run;
    if (attempt.timer !== undefined || attempt.jobStartedAt === undefined || timeoutMs === Infinity) return;
    if (attempt.state !== "running" || attempt.isOverdue) return;
    const elapsedMs = Math.max(0, this.#clock.now() - attempt.jobStartedAt);
    attempt.timer = this.#clock.after(Math.max(0, timeoutMs - elapsedMs), () => this.#expire(attempt));
  }

  /** Arms the timeout of an overdue attempt again, because its worker is reachable. */
  rearm(attempt: Attempt): void {
    if (!attempt.isOverdue) return;
    attempt.isOverdue = false;
    attempt.timer = undefined;
    this.arm(attempt);
  }

  #expire(attempt: Attempt): void {
    if (attempt.state !== "running") return;
    const graceMs = attempt.remoteWorker?.timeoutGraceMs(attempt.followedSince) ?? 0;
    if (graceMs === Infinity) attempt.isOverdue = true;
    else if (graceMs > 0) attempt.timer = this.#clock.after(Math.ceil(graceMs), () => this.#expire(attempt));
    else this.#onExpired(attempt);
  }
}
