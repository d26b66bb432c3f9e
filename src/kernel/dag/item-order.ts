/** The order in which the items of a map start: those that start again first, then by index. */
export class ItemOrder {
  /** The numbers of items that were taken back or are due again, from `#againFrom` on. */
  #again: number[] = [];
  #againFrom = 0;
  /** No item below it waits for its first attempt. */
  #next = 0;

  addAgain(item: number): void {
    this.#again.push(item);
  }

  /** The next of the items that start again, if it still may. */
  takeAgain(isReady: (item: number) => boolean): number | undefined {
    while (this.#againFrom < this.#again.length) {
      const item = this.#again[this.#againFrom++] as number;
      if (isReady(item)) return item;
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
