import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import { type Missed, nothingMissed } from "./missed.ts";
import type { Outlet } from "./outlet.ts";

/** One subscription: its position in the channel, and its missed changes. */
export class Follower {
  readonly outlet: Outlet;
  /** The cursor after everything that was handed to the outlet. */
  cursor: Cursor;
  /** Number of the next change in the channel. */
  position = 0;
  /** Bytes of the channel before that position. */
  bytesBefore = 0;
  /** The store is being read for it; it gets nothing meanwhile. */
  isCatchingUp = false;
  /** Time at which the first missed change was due. */
  earlyAt = 0;
  #early: Missed = nothingMissed;

  constructor(outlet: Outlet, cursor: Cursor) {
    this.outlet = outlet;
    this.cursor = cursor;
  }

  /** Sets the missed changes, which are sent before those of the channel. */
  setEarly(missed: Missed): void {
    this.#early = missed;
  }

  get earlyLeft(): number {
    return this.#early.left;
  }

  /** Takes missed changes of about this size, at least one. */
  takeEarly(bytes: number): FeedEntry[] {
    const taken = this.#early.take(bytes);
    if (this.earlyLeft === 0) this.setEarly(nothingMissed);
    return taken;
  }
}
