/** A set of an instance's tasks. Most sets of most instances are always empty, so an empty one costs little. */
export class TaskSet {
  #tasks: Set<number> | undefined;

  get size(): number {
    return this.#tasks?.size ?? 0;
  }

  add(task: number): void {
    this.#tasks ??= new Set();
    this.#tasks.add(task);
  }

  delete(task: number): void {
    this.#tasks?.delete(task);
  }

  clear(): void {
    this.#tasks = undefined;
  }

  [Symbol.iterator](): Iterator<number> {
    return (this.#tasks ?? []).values();
  }
}
