import { assert } from "../../base/assert.ts";
import type { FeedEntry } from "./feed-entry.ts";

export interface RingLimits {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

/** Ring buffer of the last changes, for resuming clients. Numbered from 1 without gaps. */
export class ChangeRing {
  readonly #limits: RingLimits;
  readonly #entries: (FeedEntry | undefined)[];
  #first = 1;
  #last = 0;
  #bytes = 0;

  constructor(limits: RingLimits) {
    this.#limits = limits;
    this.#entries = new Array<FeedEntry | undefined>(limits.entriesMax);
  }

  /** Number of the newest change. */
  get last(): number {
    return this.#last;
  }

  add(entry: FeedEntry): void {
    assert(entry.cursor.seq === this.#last + 1, "changes are numbered without gaps");
    if (this.#last - this.#first + 1 === this.#limits.entriesMax) this.#forgetOldest();
    this.#last = entry.cursor.seq;
    this.#entries[this.#last % this.#limits.entriesMax] = entry;
    this.#bytes += entry.size;
    while (this.#bytes > this.#limits.bytesMax && this.#first < this.#last) this.#forgetOldest();
  }

  /** The matching changes after this number; undefined if some are no longer buffered, or the number is invalid. */
  after(seq: number, fits: (entry: FeedEntry) => boolean): FeedEntry[] | undefined {
    if (seq < this.#first - 1 || seq > this.#last) return undefined;
    const found: FeedEntry[] = [];
    for (let each = seq + 1; each <= this.#last; each++) {
      const entry = this.#entries[each % this.#limits.entriesMax];
      assert(entry !== undefined, "what lies between the first and the last is there");
      if (fits(entry)) found.push(entry);
    }
    return found;
  }

  #forgetOldest(): void {
    const place = this.#first % this.#limits.entriesMax;
    this.#bytes -= this.#entries[place]?.size ?? 0;
    this.#entries[place] = undefined;
    this.#first++;
  }
}
