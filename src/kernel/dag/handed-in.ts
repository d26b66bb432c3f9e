/**
 * The number of items that each call of `ctx.map` has handed in, by the task that made it. A later attempt of that task
 * makes the same calls again, and its items are known by call and index. Calls of a task that has succeeded are forgotten.
 */
export class HandedIn {
  readonly #counts = new Map<number, number[]>();

  count(task: number, call: number): number {
    return this.#counts.get(task)?.[call] ?? 0;
  }

  note(task: number, call: number, count: number): void {
    const counts = this.#counts.get(task) ?? [];
    counts[call] = count;
    this.#counts.set(task, counts);
  }

  forget(task: number): void {
    this.#counts.delete(task);
  }
}
