import { assert } from "../../base/assert.ts";
import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";

/** Changes that go out together, to everybody who stands at the same place. */
export class Batch {
  readonly entries: readonly FeedEntry[];
  /** Of them all. */
  readonly size: number;
  readonly #forms = new Map<string, Buffer>();

  constructor(entries: readonly FeedEntry[]) {
    this.entries = entries;
    this.size = entries.reduce((sum, { size }) => sum + size, 0);
  }

  /** Where a client stands that has heard all of it. */
  get cursor(): Cursor {
    const last = this.entries.at(-1);
    assert(last !== undefined, "a batch has at least one change");
    return last.cursor;
  }

  /** Written once for all who take it in this form. */
  as(form: string, write: (batch: Batch) => string): Buffer {
    let bytes = this.#forms.get(form);
    if (bytes === undefined) this.#forms.set(form, (bytes = Buffer.from(write(this))));
    return bytes;
  }
}

/** At least one, and no more than fit. */
export function upTo(entries: readonly FeedEntry[], part: { from: number; bytes: number }): FeedEntry[] {
  let end = part.from;
  let bytes = 0;
  do bytes += entries[end++]?.size ?? 0;
  while (end < entries.length && bytes + (entries[end]?.size ?? 0) <= part.bytes);
  return entries.slice(part.from, end);
}
