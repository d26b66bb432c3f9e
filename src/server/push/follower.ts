import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import type { Outlet } from "./outlet.ts";

/** One subscription: where it stands in its channel, and what it missed before it joined. */
export class Follower {
  readonly outlet: Outlet;
  /** Where its client stands once it has what was handed to the outlet. */
  cursor: Cursor;
  /** The channel's number of the next change it gets. */
  position = 0;
  /** Of the channel's bytes, those before that. */
  bytesBefore = 0;
  /** While the store is read for it, it gets nothing. */
  isCatchingUp = false;
  #early: readonly FeedEntry[] = [];
  #earlySent = 0;

  constructor(outlet: Outlet, cursor: Cursor) {
    this.outlet = outlet;
    this.cursor = cursor;
  }

  /** Goes out before anything of the channel. */
  setEarly(entries: readonly FeedEntry[]): void {
    this.#early = entries;
    this.#earlySent = 0;
  }

  get earlyLeft(): number {
    return this.#early.length - this.#earlySent;
  }

  /** The next of what it missed, of about so many bytes; at least one. */
  takeEarly(bytes: number): FeedEntry[] {
    const taken = upTo(this.#early, { from: this.#earlySent, bytes });
    this.#earlySent += taken.length;
    if (this.earlyLeft === 0) this.setEarly([]);
    return taken;
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
