import { assert } from "../../base/assert.ts";
import { ChangeBatch, upTo } from "./change-batch.ts";
import { cursorText } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import type { Follower } from "./follower.ts";
import { nothingMissed } from "./missed.ts";
import type { PushedProgress } from "./progress-feed.ts";
import { isWide, type Topic } from "./topic.ts";

export interface ChannelLimits {
  /** Back-pressure: with this many bytes in its socket a client gets no more until some are sent. */
  readonly heldBytes: number;
  /** A client that does not read is dropped when it is this far behind. */
  readonly behindBytesMax: number;
  /** A client that reads, but is that far and this long behind, skips changes. */
  readonly lateMsMax: number;
  /** A client that does not read its missed changes is dropped after this time: they are buffered for it alone. */
  readonly catchUpMsMax: number;
  /** Hard limit of the buffer. */
  readonly bytesMax: number;
}

/**
 * All followers of one topic: an instance, a workflow, or all. A change is buffered once, until the last
 * follower has it; each follower has a position in the buffer. Followers at the same position get the same bytes.
 */
export class Channel {
  readonly topic: Topic;
  /** The topic covers several instances: its followers may skip. */
  readonly #isWide: boolean;
  readonly #limits: ChannelLimits;
  /** Called for a gap: turns that another member committed are in the history only. */
  readonly #onGap: (follower: Follower) => void;
  /** Called when a follower has received all missed changes. */
  readonly #onCaughtUp: (follower: Follower) => void;
  readonly #followers = new Set<Follower>();
  #log: FeedEntry[] = [];
  /** Number of the first buffered change. */
  #base = 0;
  /** Total bytes of all changes ever buffered. */
  #bytes = 0;

  constructor(options: {
    topic: Topic;
    limits: ChannelLimits;
    onGap: (follower: Follower) => void;
    onCaughtUp: (follower: Follower) => void;
  }) {
    this.topic = options.topic;
    this.#isWide = isWide(options.topic);
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

  /** Adds a follower, from now on. */
  join(follower: Follower): void {
    this.#followers.add(follower);
    this.moveToEnd(follower);
  }

  /** Moves a follower to the end; missed changes are read from the store. */
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

  /** Sends progress to the followers that keep up; the others get the next report. */
  sendProgress(progress: PushedProgress): void {
    for (const { outlet } of this.#followers) {
      if (outlet.bufferedBytes <= this.#limits.heldBytes) outlet.sendProgress(progress);
    }
  }

  /** Skips changes that the follower already has. */
  advanceWhile(follower: Follower, isKnown: (entry: FeedEntry) => boolean): void {
    for (;;) {
      const entry = this.#log[follower.position - this.#base];
      if (entry === undefined || !isKnown(entry)) return;
      follower.position++;
      follower.bytesBefore += entry.size;
    }
  }

  /** Sends the next part to each follower, in turn, until the time is over. True if more is left. */
  flush(round: { allowanceBytes: number; now: number; isOver: () => boolean }): boolean {
    const batches = new Map<number, ChangeBatch>();
    let isLeft = false;
    // A copy, because served followers are moved to the end.
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

  /** Moves a served follower to the end, for fairness. */
  #toTheEnd(follower: Follower): void {
    if (this.#followers.delete(follower)) this.#followers.add(follower);
  }

  #isWaiting(follower: Follower): boolean {
    if (follower.isCatchingUp || !this.#followers.has(follower)) return false;
    return follower.missedLeft > 0 || follower.position < this.#end;
  }

  #serve(follower: Follower, part: { allowanceBytes: number; batches: Map<number, ChangeBatch>; now: number }): void {
    const { outlet } = follower;
    const isHeld = outlet.bufferedBytes > this.#limits.heldBytes;
    const behindBytes = this.#bytes - follower.bytesBefore;
    if (behindBytes > this.#limits.behindBytesMax) {
      if (isHeld || (!this.#isWide && behindBytes > this.#limits.bytesMax)) return this.#drop(follower);
      // A follower that reads everything is behind because the server cannot send more.
      if (this.#isWide && this.#isTooLate(follower, { behindBytes, now: part.now })) return this.#skip(follower);
    }
    if (isHeld) {
      if (follower.missedLeft > 0 && part.now - follower.missedSince > this.#limits.catchUpMsMax) this.#drop(follower);
      return;
    }
    if (follower.missedLeft > 0) return this.#sendMissed(follower, part.allowanceBytes);
    if (!this.#isWide) {
      this.advanceWhile(follower, (entry) => isRepeated(entry, follower));
      if (follower.position === this.#end) return;
      if (isAfterGap(this.#log[follower.position - this.#base], follower)) return this.#onGap(follower);
    }
    const { position } = follower;
    let batch = part.batches.get(position);
    if (batch === undefined) {
      const entries = upTo(this.#log, { from: position - this.#base, bytes: part.allowanceBytes });
      batch = new ChangeBatch(this.#isWide ? entries : untilGap(entries));
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

  #sendMissed(follower: Follower, bytes: number): void {
    this.#send(follower, new ChangeBatch(follower.takeMissed(bytes)));
    if (follower.missedLeft === 0) this.#onCaughtUp(follower);
  }

  #send(follower: Follower, batch: ChangeBatch): void {
    follower.cursor = batch.cursor;
    follower.outlet.sendChanges(batch);
  }

  #drop(follower: Follower): void {
    this.#followers.delete(follower);
    const { cursor, outlet } = follower;
    const behind =
      follower.missedLeft > 0
        ? `${follower.missedLeft} missed changes not taken`
        : `${this.#limits.behindBytesMax} bytes behind`;
    const message = `too slow: ${behind}; reconnect with cursor ${cursorText(cursor)}`;
    outlet.drop({ why: "too-slow", message, cursor });
  }

  #skip(follower: Follower): void {
    const last = this.#log.at(-1);
    assert(last !== undefined, "a follower that is behind has something to skip");
    const changes = follower.missedLeft + this.#end - follower.position;
    const from = follower.cursor;
    const isCatchingUp = follower.missedLeft > 0;
    follower.setMissed(nothingMissed);
    this.moveToEnd(follower);
    follower.cursor = last.cursor;
    follower.outlet.sendSkipped({ from, cursor: last.cursor, changes });
    if (isCatchingUp) this.#onCaughtUp(follower);
  }

  /** Drops changes that all followers have. */
  #forgetHeard(): void {
    let first = this.#end;
    for (const { position } of this.#followers) if (position < first) first = position;
    if (first === this.#base) return;
    this.#log = first === this.#end ? [] : this.#log.slice(first - this.#base);
    this.#base = first;
  }
}

/** True for a turn that the follower has: it was read from the history before it arrived. */
function isRepeated({ createdAt, turn }: FeedEntry, { cursor }: Follower): boolean {
  return cursor.turn !== undefined && createdAt === cursor.createdAt && turn <= cursor.turn;
}

/** The turns of one instance up to the first that does not follow the one before. */
function untilGap(entries: FeedEntry[]): FeedEntry[] {
  const gap = entries.findIndex(({ createdAt, turn }, at) => {
    const before = entries[at - 1];
    return before !== undefined && (createdAt !== before.createdAt || turn !== before.turn + 1);
  });
  return gap === -1 ? entries : entries.slice(0, gap);
}

/** Detects a gap: turns of an instance are numbered without gaps. */
function isAfterGap(next: FeedEntry | undefined, { cursor }: Follower): boolean {
  if (next === undefined || cursor.turn === undefined) return false;
  return next.createdAt === cursor.createdAt && next.turn > cursor.turn + 1;
}
