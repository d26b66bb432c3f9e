import type { Attempt } from "./attempt.ts";

/** A binary heap: who goes first is on top. */
export class AttemptHeap {
  #items: Attempt[] = [];

  get length(): number {
    return this.#items.length;
  }

  push(attempt: Attempt): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = items[parentAt];
      if (parent === undefined || !goesBefore(attempt, parent)) break;
      items[at] = parent;
      at = parentAt;
    }
    items[at] = attempt;
  }

  pop(): Attempt | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.#sink(last, 0);
    return first;
  }

  clear(): void {
    this.#items.length = 0;
  }

  keep(wanted: (attempt: Attempt) => boolean): void {
    this.#items = this.#items.filter(wanted);
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) {
      const attempt = this.#items[at];
      if (attempt !== undefined) this.#sink(attempt, at);
    }
  }

  /** Puts the attempt at a place or below, where it belongs. */
  #sink(attempt: Attempt, from: number): void {
    const items = this.#items;
    let at = from;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = items[childAt];
      const sibling = items[childAt + 1];
      if (child === undefined) break;
      if (sibling !== undefined && goesBefore(sibling, child)) {
        child = sibling;
        childAt++;
      }
      if (!goesBefore(child, attempt)) break;
      items[at] = child;
      at = childAt;
    }
    items[at] = attempt;
  }
}

function goesBefore(a: Attempt, b: Attempt): boolean {
  if (a.run.rank !== b.run.rank) return a.run.rank < b.run.rank;
  if (a.run.successors !== b.run.successors) return a.run.successors > b.run.successors;
  return a.arrival < b.arrival;
}
