import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterView, ShardRow } from "../stores/store.ts";
import type { MemberEvent } from "./member-event.ts";
import { ShardPlacement } from "./shard-placement.ts";

const opensAtOnceDefault = 8;

/** Number of shards that are under way to one other member at a time: more would wait there until they are opened. */
const movesAtOnce = 4;

/** Time after which a shard counts as opened elsewhere, if nobody has said so. */
const moveMs = 500;

/** Backoff after an operation that failed. */
const pauseMs = 1000;

/** Carries out the keeper's decisions. At most one operation per shard is requested at a time. */
export interface ShardOperations {
  /**
   * Claims the shard and takes up its work; "taken" if another member owns the shard. A shard that is opened after
   * `dropAll` belongs to an earlier incarnation of this member: the caller of `dropAll` drops that shard too.
   */
  open(shard: number): Promise<"open" | "taken">;
  /** Stops the work of the shard and releases it. If that fails, the shard is still owned. */
  release(shard: number): Promise<void>;
}

export interface ShardKeeperOptions {
  readonly shardCount: number;
  readonly shards: ShardOperations;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Number of shards that are opened at a time; 8 by default. */
  readonly opensAtOnce?: number;
  /** True while this member hears at once which shards others open; false by default. */
  readonly hearsOpenings?: () => boolean;
  readonly onEvent?: (event: MemberEvent) => void;
}

/**
 * Keeps the shards that this member owns in line with placement: opens those that belong to it as soon as nobody else
 * has them, and hands over those that belong to another.
 *
 * A view may be outdated and show a former owner. So it is reason enough to try to open a shard, which the store
 * refuses if it has another owner; but it never proves that a shard was lost. Only `onLost` reports a lost shard.
 *
 * A shard has no owner from its release until the next owner has opened it. So a few at a time are given to each member,
 * and the next ones when those are open there. Shards of a member that is gone have no owner in any case, and all of them
 * are claimed, as fast as they can be opened. See decision 0071.
 */
export class ShardKeeper {
  readonly #options: ShardKeeperOptions;
  readonly #opensAtOnce: number;
  readonly #owned = new Set<number>();
  /**
   * Operations under way, at most one per shard. Those of an earlier incarnation stay until they end, and change
   * nothing then.
   */
  readonly #operations = new Map<number, Operation>();
  /** Number of operations that open a shard. */
  #opens = 0;
  /** Shards to open when fewer than `opensAtOnce` are being opened. */
  readonly #waiting = new Set<number>();
  /** Owned shards that belong to other members, and wait until fewer are under way to those. */
  readonly #toGive = new Set<number>();
  /** Shards under way: the members that they are released for, and a timer from the release on. */
  readonly #moving = new Map<number, Move>();
  /** Called when an operation ends, or a shard is not under way any more. */
  readonly #waiters: (() => void)[] = [];
  /** Shards that a hint reported as free: tried once, whatever the next view shows. */
  readonly #freed = new Set<number>();
  /** Monotonic time until which a shard is not tried again after a failed operation. */
  readonly #pausedUntil = new Map<number, number>();
  /** Number of views there had been when the last operation on a shard ended. */
  readonly #endedAt = new Map<number, number>();
  readonly #placement: ShardPlacement;
  /** Number of views that were followed. */
  #views = 0;
  #life = 0;
  #isLeaving = false;

  constructor(options: ShardKeeperOptions) {
    this.#options = options;
    this.#opensAtOnce = options.opensAtOnce ?? opensAtOnceDefault;
    this.#placement = new ShardPlacement(options.shardCount);
  }

  /** Shards that were opened, up to the end of their release. */
  get owned(): ReadonlySet<number> {
    return this.#owned;
  }

  /** True if there is no shard to open or to release for now. */
  get isSettled(): boolean {
    return this.#operations.size === 0 && this.#waiting.size === 0 && this.#toGive.size === 0;
  }

  async whenSettled(): Promise<void> {
    while (!this.isSettled) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /**
   * Opens and releases shards as placement over the view requires. Each view is requested after the previous call.
   * `leaving`: members that publish that they are about to leave.
   */
  follow(view: ClusterView, me: string, leaving: Iterable<string> = []): void {
    if (this.#isLeaving || !this.#placement.follow(view, me, leaving)) return;
    this.#views++;
    this.#waiting.clear();
    this.#toGive.clear();
    const rows = new Map(view.shards.map((row) => [row.shard, row]));
    for (const shard of this.#moving.keys()) if (rows.get(shard)?.owner !== me) this.#endMove(shard);
    for (let shard = 0; shard < this.#options.shardCount; shard++) this.#decide(shard, rows.get(shard));
    this.#openNext();
    this.#giveNext();
    this.#wakeWaiters();
  }

  /** A hint says that a member is about to leave: no shard is placed on it any more, although views still contain it. */
  onLeaving(member: string): void {
    this.#placement.onLeaving(member);
  }

  /**
   * Hands its shards over to the members that stay, because this one is about to leave; its attempts run on. It keeps them
   * while there is nobody else. Never rejects.
   */
  async handOver(): Promise<void> {
    if (!this.#placement.leave() || this.#isLeaving) return;
    for (const shard of this.#owned) {
      if (!this.#isBusy(shard) && !this.#placement.belongsHere(shard)) this.#toGive.add(shard);
    }
    this.#giveNext();
    await this.whenSettled();
  }

  /** The other member that the shard is placed on; undefined if there is none. */
  placedOn(shard: number): string | undefined {
    return this.#placement.otherOwnerOf(shard);
  }

  /** A hint says that another member has released the shard, before a view does. */
  onFreed(shard: number): void {
    if (this.#isLeaving || this.#owned.has(shard) || !this.#placement.belongsHere(shard)) return;
    this.#freed.add(shard);
    // An open that is under way may have begun before the release; the shard is tried again at its end.
    if (this.#isBusy(shard) || this.#isPaused(shard)) return;
    this.#waiting.add(shard);
    this.#openNext();
  }

  /** A hint says that another member has opened the shard. */
  onOpened(shard: number): void {
    this.#endMove(shard);
    this.#giveNext();
    this.#wakeWaiters();
  }

  /** Called when the store reports that another member has claimed the shard, once for each time the shard was opened. */
  onLost(shard: number): void {
    const operation = this.#operations.get(shard);
    if (operation?.life === this.#life) operation.isLost = true;
    if (this.#owned.delete(shard)) this.#tell("shard-lost", shard);
  }

  /** Called when the cluster has removed this member, which then owns no shard. Forgets operations under way. */
  dropAll(): void {
    this.#life++;
    this.#placement.clear();
    this.#owned.clear();
    this.#waiting.clear();
    this.#forgetMoves();
    this.#freed.clear();
    this.#pausedUntil.clear();
    this.#endedAt.clear();
    this.#wakeWaiters();
  }

  /** Releases all shards because this member leaves, and opens no more. Never rejects. */
  async releaseAll(): Promise<void> {
    this.#isLeaving = true;
    this.#waiting.clear();
    this.#forgetMoves();
    for (const shard of this.#owned) if (!this.#operations.has(shard)) this.#begin(shard, "release");
    // Waits for opens under way too: each is followed by a release.
    await this.whenSettled();
  }

  #decide(shard: number, row: ShardRow | undefined): void {
    if (this.#isBusy(shard) || this.#isPaused(shard)) return;
    if (!this.#owned.has(shard)) {
      if (this.#isToOpen(shard, row)) this.#waiting.add(shard);
    } else if (!this.#placement.belongsHere(shard)) this.#toGive.add(shard);
  }

  #isToOpen(shard: number, row: ShardRow | undefined): boolean {
    if (this.#placement.belongsHere(shard)) {
      const isHeld =
        row !== undefined && !row.released && row.owner !== this.#placement.me && this.#placement.isLiving(row.owner);
      return !isHeld || this.#freed.has(shard);
    }
    this.#freed.delete(shard);
    // The shard was claimed for this member by a request that seemed to have failed: nobody else can own it, unless
    // this member opens it and releases it. Only a view that was requested after the shard's last operation proves
    // that.
    const isNews = this.#views >= (this.#endedAt.get(shard) ?? 0) + 2;
    return row?.owner === this.#placement.me && !row.released && isNews;
  }

  #isPaused(shard: number): boolean {
    return this.#options.clock.monotonic() < (this.#pausedUntil.get(shard) ?? -Infinity);
  }

  /**
   * True if an operation of this incarnation is under way. One of an earlier incarnation does not count: a new one
   * waits for its end.
   */
  #isBusy(shard: number): boolean {
    return this.#operations.get(shard)?.life === this.#life;
  }

  #openNext(): void {
    for (const shard of this.#waiting) {
      if (this.#opens >= this.#opensAtOnce) return;
      if (this.#operations.has(shard)) continue;
      this.#waiting.delete(shard);
      this.#freed.delete(shard);
      this.#begin(shard, "open");
    }
  }

  /** Releases shards that belong to other members, as many as may be under way to each. */
  #giveNext(): void {
    const counts = new Map<string, number>();
    const isBounded = this.#options.hearsOpenings?.() ?? false;
    for (const { to } of this.#moving.values()) counts.set(to, (counts.get(to) ?? 0) + 1);
    for (const shard of this.#toGive) {
      const to = this.placedOn(shard);
      const count = counts.get(to ?? "") ?? 0;
      if (to !== undefined && isBounded && count >= movesAtOnce) continue;
      this.#toGive.delete(shard);
      // It was lost, or belongs here again.
      if (to === undefined || !this.#owned.has(shard) || this.#isBusy(shard)) continue;
      counts.set(to, count + 1);
      this.#moving.set(shard, { to, timer: undefined });
      this.#begin(shard, "release");
    }
  }

  #onReleased(shard: number): void {
    const move = this.#moving.get(shard);
    if (move === undefined) return;
    move.timer = this.#options.clock.after(moveMs, () => this.onOpened(shard));
  }

  #endMove(shard: number): void {
    this.#moving.get(shard)?.timer?.cancel();
    this.#moving.delete(shard);
  }

  #forgetMoves(): void {
    this.#toGive.clear();
    for (const shard of this.#moving.keys()) this.#endMove(shard);
  }

  #wakeWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  #begin(shard: number, kind: Operation["kind"]): void {
    const operation: Operation = { kind, life: this.#life, isLost: false };
    this.#operations.set(shard, operation);
    if (kind === "open") this.#opens++;
    void this.#carryOut(shard, operation);
  }

  async #carryOut(shard: number, operation: Operation): Promise<void> {
    const outcome = await this.#ask(shard, operation);
    this.#operations.delete(shard);
    if (operation.kind === "open") this.#opens--;
    if (operation.life === this.#life) this.#onOperationEnded(shard, outcome, operation.isLost);
    this.#openNext();
    this.#giveNext();
    this.#wakeWaiters();
  }

  async #ask(shard: number, { kind, life }: Operation): Promise<Outcome> {
    const { shards, logger } = this.#options;
    try {
      if (kind === "open") return await shards.open(shard);
      await shards.release(shard);
      return "released";
    } catch (error) {
      const isOver = life !== this.#life;
      const fields = { shard, error: messageOf(error) };
      if (isOver) logger.debug(fields, `could not ${kind} a shard of an earlier life`);
      else logger.warn(fields, `could not ${kind} a shard; a later view will try again`);
      return "failed";
    }
  }

  #onOperationEnded(shard: number, outcome: Outcome, isLost: boolean): void {
    this.#endedAt.set(shard, this.#views);
    if (outcome === "released") this.#onReleased(shard);
    else this.#endMove(shard);
    if (outcome === "failed") this.#pausedUntil.set(shard, this.#options.clock.monotonic() + pauseMs);
    else if (outcome === "released") {
      if (this.#owned.delete(shard)) this.#tell("shard-released", shard);
    } else if (outcome === "taken") {
      if (this.#freed.has(shard) && !this.#isLeaving) this.#waiting.add(shard);
    } else if (!isLost) {
      this.#freed.delete(shard);
      this.#owned.add(shard);
      this.#tell("shard-opened", shard);
      if (this.#isLeaving) this.#begin(shard, "release");
      else if (!this.#placement.belongsHere(shard)) this.#toGive.add(shard);
    }
  }

  #tell(type: "shard-opened" | "shard-released" | "shard-lost", shard: number): void {
    this.#options.logger.debug({ member: this.#placement.me, shard }, type.replace("-", " "));
    this.#options.onEvent?.({ type, member: this.#placement.me, shard });
  }
}

type Outcome = "open" | "taken" | "released" | "failed";

interface Operation {
  readonly kind: "open" | "release";
  readonly life: number;
  /** True if another member claimed the shard during the operation. */
  isLost: boolean;
}

/** A shard that this member gives to another. */
interface Move {
  readonly to: string;
  timer: Timer | undefined;
}
