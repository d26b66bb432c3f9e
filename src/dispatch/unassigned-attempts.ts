import type { Attempt } from "./attempt.ts";
import type { AttemptClass } from "./attempt-class.ts";
import { TaskQueue } from "./task-queue.ts";
import { selectorKey, type WorkerSelector } from "./worker-selector.ts";

/** The attempts that the same workers may run. */
interface SelectorQueues {
  readonly selector: WorkerSelector;
  readonly queues: Map<string, TaskQueue>;
}

/**
 * Attempts that no worker may run, or none with a free slot. They take no slot and stay outside the queues of their
 * domains until a worker is free; so any number of them delays no others.
 *
 * Attempts with equal selectors, of one domain and class, wait in a queue of their own. When slots become free, as many of
 * each such queue are returned to the domains as could start; the domains decide which of them do.
 */
export class UnassignedAttempts {
  readonly #agingMs: number | undefined;
  readonly #bySelector = new Map<string, SelectorQueues>();

  constructor(agingMs: number | undefined) {
    this.#agingMs = agingMs;
  }

  /** Adds an attempt. True if it is the first with its selector. */
  add(attempt: Attempt): boolean {
    const selector = attempt.run;
    const key = selectorKey(selector);
    let group = this.#bySelector.get(key);
    const isFirst = group === undefined;
    if (group === undefined) this.#bySelector.set(key, (group = { selector, queues: new Map<string, TaskQueue>() }));
    const name = queueOf(attempt);
    let queue = group.queues.get(name);
    if (queue === undefined) group.queues.set(name, (queue = new TaskQueue(this.#agingMs, "unassigned")));
    queue.put(attempt);
    return isFirst;
  }

  remove(attempt: Attempt): void {
    const key = selectorKey(attempt.run);
    const queues = this.#bySelector.get(key)?.queues;
    const name = queueOf(attempt);
    const queue = queues?.get(name);
    if (queues === undefined || queue === undefined) return;
    queue.remove(attempt, "over");
    if (queue.size === 0) queues.delete(name);
    if (queues.size === 0) this.#bySelector.delete(key);
  }

  /** The best attempt of the class that fits; it stays here. */
  findBest(wanted: AttemptClass, fits: (attempt: Attempt) => boolean): Attempt | undefined {
    const queues = this.#bySelector.get(selectorKey(wanted))?.queues;
    return queues?.get(`${wanted.care} ${wanted.domain}`)?.findBest(fits);
  }

  /** Removes as many attempts of each queue as there are free slots on workers that may run them. */
  recall(now: number, freeFor: (selector: WorkerSelector) => number): Attempt[] {
    const recalled: Attempt[] = [];
    for (const [key, { selector, queues }] of this.#bySelector) {
      const free = freeFor(selector);
      if (free <= 0) continue;
      for (const [name, queue] of queues) {
        for (let left = free; left > 0 && queue.size > 0; left--) recalled.push(queue.take(now) as Attempt);
        if (queue.size === 0) queues.delete(name);
      }
      if (queues.size === 0) this.#bySelector.delete(key);
    }
    return recalled;
  }
}

function queueOf({ care, run }: Attempt): string {
  return `${care} ${run.domain}`;
}
