import type { Attempt } from "./attempt.ts";
import { TaskQueue } from "./task-queue.ts";

export interface DomainOptions {
  /** Slots of the global pool that are kept for this domain; it never uses more. */
  readonly size: number;
  /** Higher goes first. Default 0. */
  readonly priority?: number;
}

export interface DomainStatus {
  readonly running: number;
  readonly size: number;
}

export interface DomainOverview extends DomainStatus {
  readonly domain: string;
  readonly priority: number;
  readonly waiting: number;
}

/** One domain: its slots, and who waits for them. */
export class DomainPool {
  readonly name: string;
  priority = 0;
  size = 0;
  /** A run may come back from the store with a domain that is declared no more. It waits, in a pool without slots. */
  declared = false;
  /** Attempt ids, never a counter: what runs can be compared with it. */
  readonly slots = new Set<string>();
  readonly #queue: TaskQueue;
  readonly #suspects: TaskQueue;

  constructor(name: string, agingMs: number) {
    this.name = name;
    this.#queue = new TaskQueue(agingMs);
    this.#suspects = new TaskQueue(agingMs);
  }

  overview(): DomainOverview {
    const waiting = this.#queue.size + this.#suspects.size;
    return { domain: this.name, priority: this.priority, size: this.size, running: this.slots.size, waiting };
  }

  put(attempt: Attempt): void {
    this.#queueOf(attempt).put(attempt);
  }

  remove(attempt: Attempt): void {
    this.#queueOf(attempt).remove(attempt, "over");
  }

  /** Next in order, if there is a slot for it. Suspects go first, so that a guilty one is soon found out. */
  take(now: number, suspectsToo: boolean): Attempt | undefined {
    if (this.slots.size >= this.size) return undefined;
    return (suspectsToo ? this.#suspects.take(now) : undefined) ?? this.#queue.take(now);
  }

  #queueOf(attempt: Attempt): TaskQueue {
    return attempt.suspect ? this.#suspects : this.#queue;
  }
}
