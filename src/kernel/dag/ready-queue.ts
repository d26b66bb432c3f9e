/**
 * Tasks that could run now, best first: lower rank (the sub-task rule), then more successors, then first come. A binary
 * heap; entries are taken back by the reader, who passes over tasks that are no longer ready.
 */
export class ReadyQueue {
  readonly #heap: Entry[] = [];
  #arrivals = 0;

  push(task: number, rank: number, successors: number): void {
    const heap = this.#heap;
    const entry = { task, rank, successors, arrival: this.#arrivals++ };
    let place = heap.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Entry;
      if (!goesBefore(entry, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = entry;
  }

  clear(): void {
    this.#heap.length = 0;
  }

  pop(): number | undefined {
    const heap = this.#heap;
    const best = heap[0];
    const last = heap.pop();
    if (best === undefined || last === undefined) return undefined;
    if (heap.length > 0) this.#sink(last);
    return best.task;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      if (left >= heap.length) break;
      const better = right < heap.length && goesBefore(heap[right] as Entry, heap[left] as Entry) ? right : left;
      if (!goesBefore(heap[better] as Entry, entry)) break;
      heap[place] = heap[better] as Entry;
      place = better;
    }
    heap[place] = entry;
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
