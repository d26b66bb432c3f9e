import type { Attempt } from "./attempt.ts";
import { TaskQueue } from "./task-queue.ts";

/**
 * Attempts whose job no worker knows, or none that has a slot. They hold no slot and take no part in the order until one
 * does; so they are in nobody's way, however many they are.
 *
 * Those of one job, domain and care wait in their own order. When some slots become free, as many of each such line are
 * put back as could start, and no more: which of them does is decided where all are put in order.
 */
export class UnassignedAttempts {
  readonly #agingMs: number | undefined;
  readonly #byJob = new Map<string, Map<string, TaskQueue>>();

  constructor(agingMs: number | undefined) {
    this.#agingMs = agingMs;
  }

  /** Whether it is the first to wait for its job. */
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

  /** Takes out as many of each line as there are free slots for its job. */
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
