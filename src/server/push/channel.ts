import { assert } from "../../base/assert.ts";
import { Batch, upTo } from "./batch.ts";
import { cursorText } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import type { Follower } from "./follower.ts";
import { nothingMissed } from "./missed.ts";

export interface ChannelLimits {
  /** A client that has this much in its socket gets no more until some has left. */
  readonly heldBytes: number;
  /** One that does not read, and is further behind, is dropped. */
  readonly behindBytesMax: number;
  /** One that reads, and is further behind than that, is told this late; then it skips what it missed. */
  readonly lateMsMax: number;
  /** One that does not take what it missed is dropped after this time: it is kept for that client alone. */
  readonly catchUpMsMax: number;
  /** However late: more than this is kept for nobody. */
  readonly bytesMax: number;
}

/**
 * Everybody who listens to the same: to one instance, to one workflow, or to all. A change is kept once, until the last
 * of them has it; each only has a place in that list. Those at the same place get the same bytes.
 */
export class Channel {
  /** Not of one instance alone: its followers may skip. */
  readonly #isWide: boolean;
  readonly #limits: ChannelLimits;
  /** The instance took turns elsewhere: they are in its history. */
  readonly #onGap: (follower: Follower) => void;
  /** It was given all that it missed. */
  readonly #onCaughtUp: (follower: Follower) => void;
  readonly #followers = new Set<Follower>();
  #log: FeedEntry[] = [];
  /** The number of the first in the log. */
  #base = 0;
  /** Of all that were ever in the log. */
  #bytes = 0;

  constructor(options: {
    isWide: boolean;
    limits: ChannelLimits;
    onGap: (follower: Follower) => void;
    onCaughtUp: (follower: Follower) => void;
  }) {
    this.#isWide = options.isWide;
    this.#limits = options.limits;
    this.#onGap = options.onGap;
    this.#onCaughtUp = options.onCaughtUp;
  }

  get size(): number {
    return this.#followers.size;
  }

  get followers(): Iterable<Follower> {
    return this.#followers;
  }

  get #end(): number {
    return this.#base + this.#log.length;
  }

  has(follower: Follower): boolean {
    return this.#followers.has(follower);
  }

  /** It hears what comes from now on. */
  join(follower: Follower): void {
    this.#followers.add(follower);
    this.moveToEnd(follower);
  }

  /** Passes over everything up to now: what it missed is read from the store. */
  moveToEnd(follower: Follower): void {
    follower.position = this.#end;
    follower.bytesBefore = this.#bytes;
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.#forgetHeard();
  }

  append(entry: FeedEntry): void {
    this.#log.push(entry);
    this.#bytes += entry.size;
  }

  /** Passes over what it already has. */
  advanceWhile(follower: Follower, isKnown: (entry: FeedEntry) => boolean): void {
    for (;;) {
      const entry = this.#log[follower.position - this.#base];
      if (entry === undefined || !isKnown(entry)) return;
      follower.position++;
      follower.bytesBefore += entry.size;
    }
  }

  /** Gives everybody the next part, in turn until the time is over. True if that was not all. */
  flush(round: { allowanceBytes: number; now: number; isOver: () => boolean }): boolean {
    const batches = new Map<number, Batch>();
    let isLeft = false;
    // A copy: those who were served are put at the end.
    for (const follower of Array.from(this.#followers)) {
      if (round.isOver()) {
        isLeft = true;
        break;
      }
      if (!this.#isWaiting(follower)) continue;
      this.#serve(follower, { ...round, batches });
      this.#toTheEnd(follower);
      if (this.#isWaiting(follower)) isLeft = true;
    }
    this.#forgetHeard();
    return isLeft;
  }

  /** Those who were not served come first the next time. */
  #toTheEnd(follower: Follower): void {
    if (this.#followers.delete(follower)) this.#followers.add(follower);
  }

  #isWaiting(follower: Follower): boolean {
    if (follower.isCatchingUp || !this.#followers.has(follower)) return false;
    return follower.earlyLeft > 0 || follower.position < this.#end;
  }

  #serve(follower: Follower, part: { allowanceBytes: number; batches: Map<number, Batch>; now: number }): void {
    const { outlet } = follower;
    const isHeld = outlet.bufferedBytes > this.#limits.heldBytes;
    const behindBytes = this.#bytes - follower.bytesBefore;
    if (behindBytes > this.#limits.behindBytesMax) {
      if (isHeld || (!this.#isWide && behindBytes > this.#limits.bytesMax)) return this.#drop(follower);
      // Whoever takes all that it is given is behind because the server cannot give more.
      if (this.#isWide && this.#isTooLate(follower, { behindBytes, now: part.now })) return this.#skip(follower);
    }
    if (isHeld) {
      if (follower.earlyLeft > 0 && part.now - follower.earlyAt > this.#limits.catchUpMsMax) this.#drop(follower);
      return;
    }
    if (follower.earlyLeft > 0) return this.#sendEarly(follower, part.allowanceBytes);
    if (!this.#isWide && isAfterGap(this.#log[follower.position - this.#base], follower)) return this.#onGap(follower);
    const { position } = follower;
    let batch = part.batches.get(position);
    if (batch === undefined) {
      batch = new Batch(upTo(this.#log, { from: position - this.#base, bytes: part.allowanceBytes }));
      part.batches.set(position, batch);
    }
    follower.position += batch.entries.length;
    follower.bytesBefore += batch.size;
    this.#send(follower, batch);
  }

  #isTooLate(follower: Follower, { behindBytes, now }: { behindBytes: number; now: number }): boolean {
    const { lateMsMax, bytesMax } = this.#limits;
    const next = this.#log[follower.position - this.#base];
    return behindBytes > bytesMax || (next !== undefined && now - next.cursor.at >= lateMsMax);
  }

  #sendEarly(follower: Follower, bytes: number): void {
    this.#send(follower, new Batch(follower.takeEarly(bytes)));
    if (follower.earlyLeft === 0) this.#onCaughtUp(follower);
  }

  #send(follower: Follower, batch: Batch): void {
    follower.cursor = batch.cursor;
    follower.outlet.changes(batch);
  }

  #drop(follower: Follower): void {
    this.#followers.delete(follower);
    const { cursor, outlet } = follower;
    const behind =
      follower.earlyLeft > 0
        ? `${follower.earlyLeft} missed changes not taken`
        : `${this.#limits.behindBytesMax} bytes behind`;
    const message = `too slow: ${behind}; reconnect with cursor ${cursorText(cursor)}`;
    outlet.drop({ why: "too-slow", message, cursor });
  }

  #skip(follower: Follower): void {
    const last = this.#log.at(-1);
    assert(last !== undefined, "a follower that is behind has something to skip");
    const changes = follower.earlyLeft + this.#end - follower.position;
    const from = follower.cursor;
    const isCatchingUp = follower.earlyLeft > 0;
    follower.setEarly(nothingMissed);
    this.moveToEnd(follower);
    follower.cursor = last.cursor;
    follower.outlet.skipped({ from, cursor: last.cursor, changes });
    if (isCatchingUp) this.#onCaughtUp(follower);
  }

  /** What the last of them has. */
  #forgetHeard(): void {
    let first = this.#end;
    for (const { position } of this.#followers) if (position < first) first = position;
    if (first === this.#base) return;
    this.#log = first === this.#end ? [] : this.#log.slice(first - this.#base);
    this.#base = first;
  }
}

/** Turns of one life of an instance are numbered without gaps. */
function isAfterGap(next: FeedEntry | undefined, { cursor }: Follower): boolean {
  if (next === undefined || cursor.turn === undefined) return false;
  return next.createdAt === cursor.createdAt && next.turn > cursor.turn + 1;
}
