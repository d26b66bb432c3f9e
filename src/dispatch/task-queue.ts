import { Heap } from "../base/heap.ts";
import type { Attempt, AttemptState } from "./attempt.ts";

/** Every fourth pick takes the attempt that has waited longest, if it has waited for at least `agingMs`. */
const agingEvery = 4;
/** Default of the waiting time from which aging prefers the oldest attempt. */
export const defaultAgingMs = 10_000;
/** Stale entries are swept once they outnumber the waiting ones by more than this. */
const sweepSlack = 64;

type WaitingState = Extract<AttemptState, "queued" | "unassigned">;

/**
 * The waiting attempts of one domain, in order: lower rank, then more successors, then first come first served. Aging
 * prevents starvation (`agingEvery`).
 *
 * Each attempt is in a list (by arrival) and in a heap (by that order). It is removed from one of them at once and from the
 * other lazily: an entry whose attempt is not in the state of this queue is skipped. So an attempt may move between two
 * queues only if their states differ. While the list is in that order itself, as where all have the same rank and
 * successors, there is no need for the heap, and it is empty.
 */
export class TaskQueue {
  readonly #agingMs: number;
  readonly #state: WaitingState;
  readonly #heap = new Heap<Attempt>(goesBefore);
  #line: Attempt[] = [];
  #isLineInOrder = true;
  #lineHead = 0;
  #size = 0;
  #picks = 0;

  constructor(agingMs: number = defaultAgingMs, state: WaitingState = "queued") {
    this.#agingMs = agingMs;
    this.#state = state;
  }

  get size(): number {
    return this.#size;
  }

  put(attempt: Attempt): void {
    attempt.state = this.#state;
    this.#size++;
    const last = this.#line.at(-1);
    if (this.#isLineInOrder && last !== undefined && goesBefore(attempt, last)) this.#fillHeap();
    this.#line.push(attempt);
    if (!this.#isLineInOrder) this.#heap.push(attempt);
  }

  #fillHeap(): void {
    this.#isLineInOrder = false;
    for (let place = this.#lineHead; place < this.#line.length; place++) {
      const attempt = this.#line[place] as Attempt;
      if (attempt.state === this.#state) this.#heap.push(attempt);
    }
  }

  /** Takes the next attempt and sets its state to `running`; a caller that cannot run it sets another state. */
  take(now: number): Attempt | undefined {
    if (this.#size === 0) return undefined;
    this.#picks++;
    const attempt = (this.#picks % agingEvery === 0 ? this.#aged(now) : undefined) ?? this.#best();
    if (attempt !== undefined) this.remove(attempt, "running");
    return attempt;
  }

  /** Removes an attempt, which must be waiting here. */
  remove(attempt: Attempt, state: Exclude<AttemptState, WaitingState>): void {
    attempt.state = state;
    this.#size--;
    if (this.#size === 0) this.#clear();
    else this.#sweep();
  }

  /** The best attempt that fits; it stays in the queue. */
  findBest(fits: (attempt: Attempt) => boolean): Attempt | undefined {
    let best: Attempt | undefined;
    for (let place = this.#lineHead; place < this.#line.length; place++) {
      const attempt = this.#line[place] as Attempt;
      if (attempt.state !== this.#state || !fits(attempt)) continue;
      if (this.#isLineInOrder) return attempt;
      if (best === undefined || goesBefore(attempt, best)) best = attempt;
    }
    return best;
  }

  #best(): Attempt | undefined {
    if (this.#isLineInOrder) return this.#oldest();
    for (;;) {
      const best = this.#heap.pop();
      if (best === undefined || best.state === this.#state) return best;
    }
  }

  #aged(now: number): Attempt | undefined {
    const oldest = this.#oldest();
    return oldest !== undefined && now - oldest.queuedAt >= this.#agingMs ? oldest : undefined;
  }

  #oldest(): Attempt | undefined {
    let oldest = this.#line[this.#lineHead];
    while (oldest !== undefined && oldest.state !== this.#state) oldest = this.#line[++this.#lineHead];
    return oldest;
  }

  #clear(): void {
    this.#heap.clear();
    this.#isLineInOrder = true;
    this.#line.length = 0;
    this.#lineHead = 0;
  }

  #sweep(): void {
    const entriesMax = 2 * this.#size + sweepSlack;
    if (this.#heap.length > entriesMax) this.#heap.keep(this.#once());
    if (this.#line.length > entriesMax) {
      this.#line = this.#line.slice(this.#lineHead).filter(this.#once());
      this.#lineHead = 0;
    }
  }

  /** A filter for the attempts that wait here, each once: one that was removed lazily and added again has two entries. */
  #once(): (attempt: Attempt) => boolean {
    const seen = new Set<Attempt>();
    return (attempt) => attempt.state === this.#state && !seen.has(attempt) && seen.add(attempt).has(attempt);
  }
}

/** Lower rank, then more successors, then first come. */
export function goesBefore({ run: a, arrival }: Attempt, { run: b, arrival: other }: Attempt): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  if (a.successors !== b.successors) return a.successors > b.successors;
  return arrival < other;
}
