import { assert } from "../../base/assert.ts";
import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";

/** Changes that are sent together, to all followers at the same position. */
export class ChangeBatch {
  readonly entries: readonly FeedEntry[];
  /** Size of all entries. */
  readonly size: number;
  readonly #forms = new Map<string, Buffer>();

  constructor(entries: readonly FeedEntry[]) {
    this.entries = entries;
    this.size = entries.reduce((sum, { size }) => sum + size, 0);
  }

  /** The cursor after the last entry. */
  get cursor(): Cursor {
    const last = this.entries.at(-1);
    assert(last !== undefined, "a batch has at least one change");
    return last.cursor;
  }

  /** Serializes the batch once per form. */
  as(form: string, write: (batch: ChangeBatch) => string): Buffer {
    let bytes = this.#forms.get(form);
    if (bytes === undefined) this.#forms.set(form, (bytes = Buffer.from(write(this))));
    return bytes;
  }
}

/** Takes entries up to a size, at least one. */
export function upTo(entries: readonly FeedEntry[], part: { from: number; bytes: number }): FeedEntry[] {
  let end = part.from;
  let bytes = 0;
  do bytes += entries[end++]?.size ?? 0;
  while (end < entries.length && bytes + (entries[end]?.size ?? 0) <= part.bytes);
  return entries.slice(part.from, end);
}
