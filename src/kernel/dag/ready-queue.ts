import { Heap } from "../../base/heap.ts";

/**
 * Tasks that could run now, best first: lower rank (the sub-task rule), then more successors, then first come. What is
 * in it follows from the events alone, so that a replayed instance continues in the same order.
 */
export class ReadyQueue {
  readonly #heap = new Heap<Entry>(goesBefore);
  /** The valid entry of each task; other entries in the heap are stale, and skipped. */
  readonly #current = new Map<number, Entry>();
  #arrivals = 0;

  get size(): number {
    return this.#current.size;
  }

  get tasks(): Iterable<number> {
    return this.#current.keys();
  }

  push(task: number, rank: number, successors: number): void {
    const entry = { task, rank, successors, arrival: this.#arrivals++ };
    this.#current.set(task, entry);
    this.#heap.push(entry);
  }

  pop(): number | undefined {
    for (let entry = this.#heap.pop(); entry !== undefined; entry = this.#heap.pop()) {
      if (this.#current.get(entry.task) !== entry) continue;
      this.#current.delete(entry.task);
      return entry.task;
    }
    return undefined;
  }

  delete(task: number): void {
    this.#current.delete(task);
  }

  clear(): void {
    this.#heap.clear();
    this.#current.clear();
  }

  /** Recomputes all ranks; the order of arrival stays. */
  rerank(rankOf: (task: number) => number): void {
    const entries = Array.from(this.#current.values(), (entry) => ({ ...entry, rank: rankOf(entry.task) }));
    this.clear();
    for (const entry of entries) {
      this.#current.set(entry.task, entry);
      this.#heap.push(entry);
    }
  }
}

interface Entry {
  readonly task: number;
  readonly rank: number;
  readonly successors: number;
  readonly arrival: number;
}

function goesBefore(a: Entry, b: Entry): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  if (a.successors !== b.successors) return a.successors > b.successors;
  return a.arrival < b.arrival;
}
