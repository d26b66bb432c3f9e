/** A compacted queue drops its taken items once this many have gathered, and they are half of the array. */
const takenMax = 1024;

/**
 * A first-in, first-out queue whose `push` and `take` cost the same however long it is. `Array.shift` moves every item
 * behind the first, so that emptying a long array takes quadratic time.
 */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  /** The index of the first item that has not been taken. */
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** The oldest item; undefined if the queue is empty. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** Removes the oldest item and returns it; undefined if the queue is empty. */
  take(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) this.#reset([]);
    else if (this.#head >= takenMax && this.#head * 2 >= this.#items.length) this.#reset(this.#items.slice(this.#head));
    return item;
  }

  #reset(items: (T | undefined)[]): void {
    this.#items = items;
    this.#head = 0;
  }
}
