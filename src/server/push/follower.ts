import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import { type Missed, nothingMissed } from "./missed.ts";
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
  /** When its client was first due something of what it missed. */
  earlyAt = 0;
  #early: Missed = nothingMissed;

  constructor(outlet: Outlet, cursor: Cursor) {
    this.outlet = outlet;
    this.cursor = cursor;
  }

  /** Goes out before anything of the channel. */
  setEarly(missed: Missed): void {
    this.#early = missed;
  }

  get earlyLeft(): number {
    return this.#early.left;
  }

  /** The next of what it missed, of about so many bytes; at least one. */
  takeEarly(bytes: number): FeedEntry[] {
    const taken = this.#early.take(bytes);
    if (this.earlyLeft === 0) this.setEarly(nothingMissed);
    return taken;
  }
}
