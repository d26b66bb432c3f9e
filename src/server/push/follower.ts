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
  /** Changes were lost while it read the store: it reads once more. */
  mustReread = false;
  hasLeft = false;
  /** Time at which the first missed change was due. */
  missedSince = 0;
  #missed: Missed = nothingMissed;

  constructor(outlet: Outlet, cursor: Cursor) {
    this.outlet = outlet;
    this.cursor = cursor;
  }

  /** Sets the missed changes, which are sent before those of the channel. */
  setMissed(missed: Missed): void {
    this.#missed = missed;
  }

  get missedLeft(): number {
    return this.#missed.left;
  }

  /** Takes missed changes of about this size, at least one. */
  takeMissed(bytes: number): FeedEntry[] {
    const taken = this.#missed.take(bytes);
    if (this.missedLeft === 0) this.setMissed(nothingMissed);
    return taken;
  }
}
