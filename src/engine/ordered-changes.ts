import type { Clock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { InstanceChange } from "./instance-change.ts";

/** A history that could not be read is read again after this pause. */
const pauseMs = 500;

/** Places of this many instances are kept. */
const placesMax = 50_000;

/** The last turn of an instance that the listener has. A reused id has a later creation time. */
interface Place {
  readonly createdAt: number;
  readonly turn: number;
  readonly at: number;
}

export interface OrderedChangesParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listener: (change: InstanceChange) => void;
  /** Reads the whole history of an instance, oldest turn first. `INSTANCE_UNKNOWN`, and the errors of the store. */
  readonly readHistory: (instanceId: string, onTurn: (change: InstanceChange) => void) => Promise<void>;
  /** False once the engine has stopped: nothing is read any more. */
  readonly mayRead: () => boolean;
}

/**
 * Puts the changes of instances in order, whichever member committed them: the listener gets each turn of an instance
 * once, after the turn before. Turns that are missing before one that has come are read from the history.
 *
 * Of an instance that it does not know yet, turns before `since` are not missing: nobody had subscribed.
 */
export class OrderedChanges {
  readonly #parts: OrderedChangesParts;
  /** The least recent first. */
  readonly #places = new Map<string, Place>();
  /** Changes that wait for a history to be read, by instance. */
  readonly #waiting = new Map<string, InstanceChange[]>();
  readonly #mustReread = new Set<string>();
  readonly #stopped = Promise.withResolvers<void>();
  /** Turns of unknown instances before this time are not delivered from a history. */
  #since: number;
  /** The turns before the first one that comes of an instance may be later than `since`. */
  #mayMissFirst = false;
  #isStopped = false;

  constructor(parts: OrderedChangesParts) {
    this.#parts = parts;
    this.#since = parts.clock.now();
  }

  /** Turns of unknown instances before this time are not missing. */
  get since(): number {
    return this.#since;
  }

  /**
   * Turns were lost, or a shard was opened elsewhere, whose earlier owner may send its last turns later, or not at all: of
   * instances that are not known, those before the first one that comes are read from now on.
   */
  expectMissing(): void {
    this.#mayMissFirst = true;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopped.resolve();
  }

  /** Takes a change of this member or of another, possibly late, or for the second time. */
  take(change: InstanceChange): void {
    const waiting = this.#waiting.get(change.instanceId);
    if (waiting !== undefined) return void waiting.push(change);
    const last = this.#places.get(change.instanceId);
    if (!isAfter(change, last)) return;
    if (this.#isNext(change, last)) return this.#deliver(change);
    this.#waiting.set(change.instanceId, [change]);
    void this.#readAll(change.instanceId);
  }

  /** Keeps changes of the instance back until `release`. */
  hold(instanceId: string): void {
    if (!this.#waiting.has(instanceId)) this.#waiting.set(instanceId, []);
  }

  /** Everything of the instance after this place is delivered, and what was kept back: from its history if need be. */
  releaseAfter(instanceId: string, place: Place): void {
    const turns = (this.#waiting.get(instanceId) ?? [])
      .filter(({ createdAt }) => createdAt === place.createdAt)
      .map(({ turn }) => turn - 1);
    this.#places.set(instanceId, { ...place, turn: Math.min(place.turn, ...turns) });
    void this.#readAll(instanceId);
  }

  /** Releases what was kept back, as it came. */
  release(instanceId: string): void {
    const waiting = this.#waiting.get(instanceId) ?? [];
    this.#waiting.delete(instanceId);
    for (const change of waiting) if (isAfter(change, this.#places.get(instanceId))) this.#deliver(change);
  }

  /** Turns of the instance may have been lost: reads its history, and delivers those that are missing. */
  async reread(instanceId: string): Promise<void> {
    // What is being read may have been read before the lost turns were committed.
    if (this.#waiting.has(instanceId)) return void this.#mustReread.add(instanceId);
    this.#waiting.set(instanceId, []);
    await this.#readAll(instanceId);
  }

  /** The number of the last turn that was delivered of an instance; undefined if it is not known. */
  lastTurnOf(instanceId: string, createdAt: number): number | undefined {
    const last = this.#places.get(instanceId);
    return last?.createdAt === createdAt ? last.turn : undefined;
  }

  #isNext({ createdAt, turn }: InstanceChange, last: Place | undefined): boolean {
    if (last === undefined) return turn === 0 || (createdAt < this.#since && !this.#mayMissFirst);
    return turn === (createdAt === last.createdAt ? last.turn + 1 : 0);
  }

  async #readAll(instanceId: string): Promise<void> {
    let waitedBefore: number;
    do {
      this.#mustReread.delete(instanceId);
      for (;;) {
        waitedBefore = this.#waiting.get(instanceId)?.length ?? 0;
        if (this.#isStopped || (await this.#read(instanceId))) break;
        await this.pause();
      }
      if (this.#isStopped) return;
    } while (this.#mustReread.has(instanceId) || !this.#releaseUntilGap(instanceId, waitedBefore));
  }

  /**
   * Delivers what waits, but not beyond turns that are missing before a change that came while the history was read: they
   * may be in it now. What waited before is in the history, or no longer. Returns whether everything is delivered.
   */
  #releaseUntilGap(instanceId: string, waitedBefore: number): boolean {
    const waiting = this.#waiting.get(instanceId) ?? [];
    // A listener may add to them.
    for (let place = 0; place < waiting.length; place++) {
      const change = waiting[place] as InstanceChange;
      const last = this.#places.get(instanceId);
      if (!isAfter(change, last)) continue;
      if (place >= waitedBefore && !this.#isNext(change, last)) {
        this.#waiting.set(instanceId, waiting.slice(place));
        return false;
      }
      this.#deliver(change);
    }
    this.#waiting.delete(instanceId);
    return true;
  }

  /** False if the history could not be read. */
  async #read(instanceId: string): Promise<boolean> {
    const { readHistory, mayRead, logger } = this.#parts;
    const isUnknown = !this.#places.has(instanceId);
    try {
      await readHistory(instanceId, (change) => {
        if (this.#isStopped || !isAfter(change, this.#places.get(instanceId))) return;
        if (!isUnknown || change.at >= this.#since) this.#deliver(change);
      });
      return true;
    } catch (error) {
      // It was purged, so there is nothing to be read.
      if (hasCode(error, "INSTANCE_UNKNOWN")) return true;
      if (!mayRead()) this.stop();
      logger.debug({ instanceId, error: messageOf(error) }, "a history could not be read for a subscriber; retrying");
      return false;
    }
  }

  /** Waits a while before the store is asked again, or until it is stopped. */
  async pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(pauseMs, resolve);
    await Promise.race([promise, this.#stopped.promise]);
    timer.cancel();
  }

  #deliver(change: InstanceChange): void {
    if (this.#isStopped) return;
    this.#note(change);
    try {
      this.#parts.listener(change);
    } catch (error) {
      this.#parts.logger.warn(
        { error: messageOf(error) },
        "a subscriber threw; it is called again for the next change",
      );
    }
  }

  #note({ instanceId, createdAt, turn, at }: InstanceChange): void {
    this.#places.delete(instanceId);
    this.#places.set(instanceId, { createdAt, turn, at });
    for (const [oldest, place] of this.#places) {
      if (this.#places.size <= placesMax) return;
      this.#places.delete(oldest);
      // Nothing of the forgotten instance is delivered for the second time.
      this.#since = Math.max(this.#since, place.at + 1);
    }
  }
}

function isAfter({ createdAt, turn }: Pick<Place, "createdAt" | "turn">, last: Place | undefined): boolean {
  if (last === undefined || createdAt > last.createdAt) return true;
  return createdAt === last.createdAt && turn > last.turn;
}
