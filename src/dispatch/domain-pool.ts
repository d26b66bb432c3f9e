import type { Attempt, StartCare } from "./attempt.ts";
import { TaskQueue } from "./task-queue.ts";

export interface DomainOptions {
  /**
   * It never uses more slots than these. Standing alone, a dispatcher keeps that many of its pool for the domain; in a
   * cluster it is what all members together may use.
   */
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

/** Those that were under way go on first; suspects come after them, so that they meet on no account. */
const order: readonly StartCare[] = ["careful", "suspect", "last", "plain"];

/** One domain: its slots, and who waits for them. */
export class DomainPool {
  readonly name: string;
  priority = 0;
  size = 0;
  /** How many may run here. Below the size where other members have a part of it. */
  quota = 0;
  /** A run may come back from the store with a domain that is declared no more. It waits, in a pool without slots. */
  declared = false;
  /** Attempt ids, never a counter: what runs can be compared with it. */
  readonly slots = new Set<string>();
  readonly #queues: Readonly<Record<StartCare, TaskQueue>>;
  #isShort = false;

  constructor(name: string, agingMs: number) {
    this.name = name;
    const queue = (): TaskQueue => new TaskQueue(agingMs);
    this.#queues = { plain: queue(), careful: queue(), suspect: queue(), last: queue() };
  }

  overview(): DomainOverview {
    const { name: domain, priority, size, waiting } = this;
    return { domain, priority, size, running: this.slots.size, waiting };
  }

  get waiting(): number {
    return order.reduce((sum, care) => sum + this.#queues[care].size, 0);
  }

  /** A size that was lowered holds as soon as it is known here, even if nobody is there to lower the quota. */
  get #limit(): number {
    return Math.min(this.quota, this.size);
  }

  get isFull(): boolean {
    return this.slots.size >= this.#limit;
  }

  /**
   * Whether somebody has begun to wait for want of a quota. True once: the next time it is asked after it was false in
   * between.
   */
  takeShortage(): boolean {
    const wasShort = this.#isShort;
    this.#isShort = this.isFull && this.waiting > 0;
    return this.#isShort && !wasShort;
  }

  put(attempt: Attempt): void {
    this.#queues[attempt.care].put(attempt);
  }

  remove(attempt: Attempt): void {
    this.#queues[attempt.care].remove(attempt, "over");
  }

  /** Somebody of that care waits, and has a slot to start in. */
  hasNext(care: StartCare): boolean {
    return this.#queues[care].size > 0 && this.slots.size < this.#limit;
  }

  /** Next in order, if there is a slot for it and it may start. */
  take(now: number, mayStart: (care: StartCare) => boolean): Attempt | undefined {
    const care = order.find((each) => this.hasNext(each) && mayStart(each));
    return care === undefined ? undefined : this.#queues[care].take(now);
  }
}
