import { Heap } from "../../base/heap.ts";

/** Tasks that wait for their next attempt, by the time it is due. */
export class RetryWaits {
  /** Made with the first of them: most instances have none. */
  #waits: { readonly heap: Heap<Wait>; readonly dueAt: Map<number, number> } | undefined;
  #arrivals = 0;

  get tasks(): Iterable<number> {
    return this.#waits?.dueAt.keys() ?? [];
  }

  add(task: number, dueAt: number): void {
    this.#waits ??= { heap: new Heap(goesBefore), dueAt: new Map() };
    this.#waits.dueAt.set(task, dueAt);
    this.#waits.heap.push({ task, dueAt, arrival: this.#arrivals++ });
  }

  delete(task: number): void {
    this.#waits?.dueAt.delete(task);
  }

  clear(): void {
    this.#waits = undefined;
  }

  /** When the first of them is due. */
  earliest(): number | undefined {
    return this.#first()?.dueAt;
  }

  /** Takes out those that are due, the longest due first. */
  takeDue(at: number): number[] {
    const due: number[] = [];
    for (let wait = this.#first(); wait !== undefined && wait.dueAt <= at; wait = this.#first()) {
      this.delete(wait.task);
      due.push(wait.task);
    }
    return due;
  }

  /** Passes over those that were taken out meanwhile. */
  #first(): Wait | undefined {
    if (this.#waits === undefined) return undefined;
    const { heap, dueAt } = this.#waits;
    while (heap.first !== undefined && dueAt.get(heap.first.task) !== heap.first.dueAt) heap.pop();
    return heap.first;
  }
}

interface Wait {
  readonly task: number;
  readonly dueAt: number;
  readonly arrival: number;
}

function goesBefore(a: Wait, b: Wait): boolean {
  return a.dueAt === b.dueAt ? a.arrival < b.arrival : a.dueAt < b.dueAt;
}
