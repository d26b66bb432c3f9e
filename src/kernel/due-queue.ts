import { Heap } from "../base/heap.ts";

/** Priority queue by due time, of numbers: tasks for their next attempt, timers of code. */
export class DueQueue {
  /** Created on first use: most instances have none. */
  #waits: { readonly heap: Heap<Wait>; readonly dueAt: Map<number, number> } | undefined;
  #arrivals = 0;

  get isEmpty(): boolean {
    return this.size === 0;
  }

  get size(): number {
    return this.#waits?.dueAt.size ?? 0;
  }

  get numbers(): Iterable<number> {
    return this.#waits?.dueAt.keys() ?? [];
  }

  /** Numbers with their due times, in the order they were added. */
  get entries(): Iterable<readonly [number, number]> {
    return this.#waits?.dueAt ?? [];
  }

  add(number: number, dueAt: number): void {
    this.#waits ??= { heap: new Heap(goesBefore), dueAt: new Map() };
    this.#waits.dueAt.set(number, dueAt);
    this.#waits.heap.push({ number, dueAt, arrival: this.#arrivals++ });
  }

  delete(number: number): void {
    this.#waits?.dueAt.delete(number);
  }

  clear(): void {
    this.#waits = undefined;
  }

  /** Time at which the first item is due. */
  earliest(): number | undefined {
    return this.#first()?.dueAt;
  }

  /** Takes out those that are due, the longest due first. */
  takeDue(at: number): number[] {
    const due: number[] = [];
    for (let wait = this.#first(); wait !== undefined && wait.dueAt <= at; wait = this.#first()) {
      this.delete(wait.number);
      due.push(wait.number);
    }
    return due;
  }

  /** Returns the first wait, and skips those that were removed meanwhile. */
  #first(): Wait | undefined {
    if (this.#waits === undefined) return undefined;
    const { heap, dueAt } = this.#waits;
    while (heap.first !== undefined && dueAt.get(heap.first.number) !== heap.first.dueAt) heap.pop();
    return heap.first;
  }
}

interface Wait {
  readonly number: number;
  readonly dueAt: number;
  readonly arrival: number;
}

function goesBefore(a: Wait, b: Wait): boolean {
  return a.dueAt === b.dueAt ? a.arrival < b.arrival : a.dueAt < b.dueAt;
}
