/** A binary heap: the item that goes before all others comes out first. */
export class Heap<T> {
  #items: T[] = [];
  readonly #goesBefore: (a: T, b: T) => boolean;

  constructor(goesBefore: (a: T, b: T) => boolean) {
    this.#goesBefore = goesBefore;
  }

  get length(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let place = items.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = items[above] as T;
      if (!this.#goesBefore(item, parent)) break;
      items[place] = parent;
      place = above;
    }
    items[place] = item;
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (this.#items.length > 0) this.#sink(last as T, 0);
    return first;
  }

  clear(): void {
    this.#items.length = 0;
  }

  /** Removes the items for which `wanted` is false. */
  keep(wanted: (item: T) => boolean): void {
    this.#items = this.#items.filter(wanted);
    for (let place = (this.#items.length >> 1) - 1; place >= 0; place--) this.#sink(this.#items[place] as T, place);
  }

  /** Puts the item at the place or below it, where it belongs. */
  #sink(item: T, from: number): void {
    const items = this.#items;
    let place = from;
    for (let left = 2 * from + 1; left < items.length; left = 2 * place + 1) {
      const right = left + 1;
      const better = right < items.length && this.#goesBefore(items[right] as T, items[left] as T) ? right : left;
      if (!this.#goesBefore(items[better] as T, item)) break;
      items[place] = items[better] as T;
      place = better;
    }
    items[place] = item;
  }
}
