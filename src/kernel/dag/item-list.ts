import { assert } from "../../base/assert.ts";
import type { MapPage } from "../event.ts";

/** A page of the items of a map, with the index of its first item. */
export interface PlacedPage extends MapPage {
  readonly first: number;
}

/** The items of a map in pages, in the order in which they were listed or handed in. */
export class ItemList {
  readonly #pages: PlacedPage[] = [];
  #count = 0;

  constructor(pages: readonly MapPage[]) {
    this.add(pages);
  }

  get count(): number {
    return this.#count;
  }

  add(pages: readonly MapPage[]): void {
    for (const page of pages) {
      if (page.count === 0) continue;
      this.#pages.push({ ...page, first: this.#count });
      this.#count += page.count;
    }
  }

  /** The page that has the item of that index. */
  pageOf(index: number): PlacedPage {
    let low = 0;
    let high = this.#pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#pages[middle] as PlacedPage).first <= index) low = middle;
      else high = middle - 1;
    }
    const page = this.#pages[low];
    assert(page !== undefined && index < page.first + page.count, "an item of a map is on one of its pages");
    return page;
  }
}
