import { Heap } from "../../base/heap.ts";

/**
 * Tasks that could run now, best first: lower rank (the sub-task rule), then more successors, then first come. What is
 * in it follows from the events alone, so that a replayed instance continues in the same order.
 */
export class ReadyQueue {
  /** The only task, while there are no others. Most instances never have two, and so need neither heap nor map. */
  #only: Entry | undefined;
  #several: Several | undefined;
  #arrivals = 0;

  get size(): number {
    return this.#several?.current.size ?? (this.#only === undefined ? 0 : 1);
  }

  get tasks(): Iterable<number> {
    return this.#several?.current.keys() ?? (this.#only === undefined ? [] : [this.#only.task]);
  }

  push(task: number, rank: number, successors: number): void {
    this.#add({ task, rank, successors, arrival: this.#arrivals++ });
  }

  pop(): number | undefined {
    if (this.#several === undefined) {
      const task = this.#only?.task;
      this.#only = undefined;
      return task;
    }
    const { heap, current } = this.#several;
    for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) {
      if (current.get(entry.task) !== entry) continue;
      current.delete(entry.task);
      return entry.task;
    }
    return undefined;
  }

  delete(task: number): void {
    if (this.#only?.task === task) this.#only = undefined;
    this.#several?.current.delete(task);
  }

  clear(): void {
    this.#only = undefined;
    this.#several = undefined;
  }

  /** Recomputes all ranks; the order of arrival stays. */
  rerank(rankOf: (task: number) => number): void {
    const entries = [...(this.#several?.current.values() ?? []), ...(this.#only === undefined ? [] : [this.#only])];
    this.clear();
    for (const entry of entries) this.#add({ ...entry, rank: rankOf(entry.task) });
  }

  #add(entry: Entry): void {
    if (this.#several === undefined && (this.#only === undefined || this.#only.task === entry.task)) {
      this.#only = entry;
      return;
    }
    this.#several ??= { heap: new Heap(goesBefore), current: new Map() };
    if (this.#only !== undefined) put(this.#several, this.#only);
    this.#only = undefined;
    put(this.#several, entry);
  }
}

interface Several {
  readonly heap: Heap<Entry>;
  /** The valid entry of each task; other entries in the heap are stale, and skipped. */
  readonly current: Map<number, Entry>;
}

function put({ heap, current }: Several, entry: Entry): void {
  current.set(entry.task, entry);
  heap.push(entry);
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
