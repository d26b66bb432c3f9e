import type { Attempt, StartCare } from "./attempt.ts";
import { TaskQueue } from "./task-queue.ts";

export interface DomainOptions {
  /**
   * The maximum of slots in use. A single engine reserves that many of its pool for the domain; in a cluster it is the limit
   * of all members together.
   */
  readonly size: number;
  /** Higher goes first. Default 0. */
  readonly priority?: number;
}

export interface DomainStatus {
  readonly running: number;
  readonly size: number;
}

/** A domain with its size and priority, and what runs and waits in it. */
export interface DomainOverview extends DomainStatus {
  readonly domain: string;
  readonly priority: number;
  readonly waiting: number;
}

/** The order in which classes start: runs that were interrupted go first, suspects after them, so that the two never overlap. */
const order: readonly StartCare[] = ["careful", "suspect", "last", "plain"];

/** Decides whether attempts of a class may start now. */
export interface StartRule {
  allows(care: StartCare, now: number): boolean;
}

/** One domain: its slots and the attempts that wait for them. */
export class DomainPool {
  readonly name: string;
  priority = 0;
  size = 0;
  /** The maximum that may run here; less than the size if other members have a share. */
  quota = 0;
  /** False for a domain that is not declared any more: its runs from the store wait in a pool without slots. */
  declared = false;
  /** The ids of running attempts; never a counter, so that it can be compared with what runs. */
  readonly slots = new Set<string>();
  readonly #queues: Readonly<Record<StartCare, TaskQueue>>;
  #isShort = false;
  /** Waiting reservations, which stand for attempts that wait on other members. */
  #reservations = 0;

  constructor(name: string, agingMs: number) {
    this.name = name;
    const queue = (): TaskQueue => new TaskQueue(agingMs);
    this.#queues = { plain: queue(), careful: queue(), suspect: queue(), last: queue() };
  }

  overview(): DomainOverview {
    const { name: domain, priority, size } = this;
    return { domain, priority, size, running: this.slots.size, waiting: this.waiting - this.#reservations };
  }

  get waiting(): number {
    let sum = 0;
    for (const care of order) sum += this.#queues[care].size;
    return sum;
  }

  /** A lowered size takes effect at once, even if no allocator has lowered the quota yet. */
  get #limit(): number {
    return Math.min(this.quota, this.size);
  }

  get isFull(): boolean {
    return this.slots.size >= this.#limit;
  }

  /**
   * Returns true once when attempts begin to wait because the quota is used up; again only after that has ended in between.
   */
  takeShortage(): boolean {
    const wasShort = this.#isShort;
    this.#isShort = this.isFull && this.waiting > 0;
    return this.#isShort && !wasShort;
  }

  put(attempt: Attempt): void {
    if (attempt.run.awaitsGrant === true) this.#reservations++;
    this.#queues[attempt.care].put(attempt);
  }

  remove(attempt: Attempt): void {
    if (attempt.run.awaitsGrant === true) this.#reservations--;
    this.#queues[attempt.care].remove(attempt, "over");
  }

  /** The best waiting attempt of that class that fits; it stays in the queue. */
  findBest(care: StartCare, fits: (attempt: Attempt) => boolean): Attempt | undefined {
    return this.#queues[care].findBest(fits);
  }

  /** True if an attempt of that class waits and a slot is free. */
  hasNext(care: StartCare): boolean {
    return this.#queues[care].size > 0 && this.slots.size < this.#limit;
  }

  /** Takes the next attempt in order, if a slot is free and it may start. */
  take(now: number, isolation: StartRule): Attempt | undefined {
    const care = order.find((each) => this.hasNext(each) && isolation.allows(each, now));
    const attempt = care === undefined ? undefined : this.#queues[care].take(now);
    if (attempt?.run.awaitsGrant === true) this.#reservations--;
    return attempt;
  }
}
