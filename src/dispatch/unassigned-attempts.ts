import type { Attempt } from "./attempt.ts";
import { TaskQueue } from "./task-queue.ts";

/**
 * Attempts whose job no worker has, or no worker with a free slot. They take no slot and stay outside the queues of their
 * domains until a worker is free; so any number of them delays no others.
 *
 * Attempts of one job, domain and class wait in a queue of their own. When slots become free, as many of each such queue are
 * returned to the domains as could start; the domains decide which of them do.
 */
export class UnassignedAttempts {
  readonly #agingMs: number | undefined;
  readonly #byJob = new Map<string, Map<string, TaskQueue>>();

  constructor(agingMs: number | undefined) {
    this.#agingMs = agingMs;
  }

  /** Adds an attempt. True if it is the first that waits for its job. */
  add(attempt: Attempt): boolean {
    const { job } = attempt.run;
    let lines = this.#byJob.get(job);
    const isFirst = lines === undefined;
    if (lines === undefined) this.#byJob.set(job, (lines = new Map<string, TaskQueue>()));
    const name = lineOf(attempt);
    let line = lines.get(name);
    if (line === undefined) lines.set(name, (line = new TaskQueue(this.#agingMs, "unassigned")));
    line.put(attempt);
    return isFirst;
  }

  remove(attempt: Attempt): void {
    const { job } = attempt.run;
    const lines = this.#byJob.get(job);
    const name = lineOf(attempt);
    const line = lines?.get(name);
    if (lines === undefined || line === undefined) return;
    line.remove(attempt, "over");
    if (line.size === 0) lines.delete(name);
    if (lines.size === 0) this.#byJob.delete(job);
  }

  /** Removes as many attempts of each queue as there are free slots for its job. */
  recall(now: number, freeFor: (job: string) => number): Attempt[] {
    const recalled: Attempt[] = [];
    for (const [job, lines] of this.#byJob) {
      const free = freeFor(job);
      if (free <= 0) continue;
      for (const [name, line] of lines) {
        for (let left = free; left > 0 && line.size > 0; left--) recalled.push(line.take(now) as Attempt);
        if (line.size === 0) lines.delete(name);
      }
      if (lines.size === 0) this.#byJob.delete(job);
    }
    return recalled;
  }
}

function lineOf({ care, run }: Attempt): string {
  return `${care} ${run.domain}`;
}
