import { Heap } from "./heap.ts";

/** Tasks that wait for their next attempt, by the time it is due. */
export class RetryWaits {
  /** Both made with the first of them: most instances have none. */
  #heap: Heap<Wait> | undefined;
  #dueAt: Map<number, number> | undefined;
  #arrivals = 0;

  get tasks(): Iterable<number> {
    return this.#dueAt?.keys() ?? [];
  }

  add(task: number, dueAt: number): void {
    this.#dueAt ??= new Map();
    this.#heap ??= new Heap(goesBefore);
    this.#dueAt.set(task, dueAt);
    this.#heap.push({ task, dueAt, arrival: this.#arrivals++ });
  }

  delete(task: number): void {
    this.#dueAt?.delete(task);
  }

  clear(): void {
    this.#dueAt = undefined;
    this.#heap = undefined;
  }

  /** When the first of them is due. */
  earliest(): number | undefined {
    for (let wait = this.#heap?.first; wait !== undefined; wait = this.#heap?.first) {
      if (this.#dueAt?.get(wait.task) === wait.dueAt) return wait.dueAt;
      this.#heap?.pop();
    }
    return undefined;
  }

  /** Takes out those that are due, the longest due first. */
  takeDue(at: number): number[] {
    const due: number[] = [];
    for (let earliest = this.earliest(); earliest !== undefined && earliest <= at; earliest = this.earliest()) {
      const { task } = this.#heap?.pop() as Wait;
      this.#dueAt?.delete(task);
      due.push(task);
    }
    return due;
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
