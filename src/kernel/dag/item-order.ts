/** The order in which the items of a map start: those that start again first, then by index. */
export class ItemOrder {
  /** Items that were taken back or are due again, from `#againFrom` on. */
  #again: number[] = [];
  #againFrom = 0;
  /** No item below it waits for its first attempt. */
  #next = 0;

  addAgain(index: number): void {
    this.#again.push(index);
  }

  /** The next of the items that start again, if it still may. */
  takeAgain(isReady: (index: number) => boolean): number | undefined {
    while (this.#againFrom < this.#again.length) {
      const index = this.#again[this.#againFrom++] as number;
      if (isReady(index)) return index;
    }
    this.#again = [];
    this.#againFrom = 0;
    return undefined;
  }

  /** The next item below `count` that waits for its first attempt. */
  takeFirst(count: number, isWaiting: (index: number) => boolean): number | undefined {
    while (this.#next < count) {
      const index = this.#next++;
      if (isWaiting(index)) return index;
    }
    return undefined;
  }
}
