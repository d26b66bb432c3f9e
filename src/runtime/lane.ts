import type { Clock } from "../base/clock.ts";
import { hasCode } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Changes, Store } from "../stores/store.ts";
import { type CommitPart, Committer, type Rejected } from "./committer.ts";
import type { ActorShard, ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { Origin } from "./message.ts";
import { Tombstones } from "./outbox.ts";
import type { FencingToken } from "./fencing-token.ts";
import { TurnQueue } from "./turn-queue.ts";

/**
 * One commit carries no more than this: it should take milliseconds, and fit into a database's packet. The last turn
 * may pass the bytes.
 */
const turnsPerCommitMax = 5000;
const bytesPerCommitMax = 4 * 1024 * 1024;

/**
 * Rows written outside a turn. Pass a function if they contain sequence numbers: it runs when their commit begins, so
 * that numbers follow commit order.
 */
export type OwnRows = Partial<Changes> | (() => Partial<Changes>);

/** Rows of a shard that belong to no turn, written beside turns or by themselves. */
export class ShardRows implements CommitPart {
  readonly shard: ActorShard;
  readonly #rows: Partial<Changes>;

  constructor(shard: ActorShard, rows: Partial<Changes>) {
    this.shard = shard;
    this.#rows = rows;
  }

  get token(): FencingToken {
    return this.shard.token;
  }

  get fallback(): Tombstones | undefined {
    const { outbox = [] } = this.#rows;
    return outbox.length === 0 ? undefined : new Tombstones(this.token, outbox);
  }

  addTo(changes: Changes): void {
    for (const table of Object.keys(this.#rows) as (keyof Changes)[]) {
      (changes[table] as unknown[]).push(...(this.#rows[table] ?? []));
    }
  }
}

/**
 * Shards of one member that share commits, so that one round trip carries the turns of many. A shard stays in its lane,
 * so its commits are in order.
 *
 * A turn is opened, committed and released here (`#runTurns`). Turns are opened as soon as no commit is under way, from
 * all messages that are there by then. While a commit is under way, messages gather in inboxes: the busier the lane, the
 * more a turn and a commit carry.
 */
export class Lane {
  readonly #clock: Clock;
  readonly #committer: Committer;
  readonly #queue: TurnQueue;
  /** The shards of the lane, which all are lost when nothing can be written any more. */
  readonly #shards = new Set<ActorShard>();
  #commitUnderWay: Promise<void> | undefined;
  #isRunScheduled = false;

  constructor(parts: { store: Store; clock: Clock; logger: Logger; onHealth: (problem: unknown) => void }) {
    this.#clock = parts.clock;
    this.#committer = new Committer(parts);
    this.#queue = new TurnQueue(parts.clock, () => this.#scheduleRun());
  }

  enter(shard: ActorShard): void {
    this.#shards.add(shard);
  }

  /** Removes the shard, which writes nothing more here. */
  leave(shard: ActorShard): void {
    this.#shards.delete(shard);
    this.#queue.remove((actor) => actor.shard === shard);
  }

  /** The actor has something in its inbox, and gets a turn. `later`: it may wait for a while, to share that turn. */
  schedule(actor: InstanceActor, urgency: "now" | "later"): void {
    this.#queue.add(actor, urgency);
  }

  /** Stops waiting for a store that does not come back. */
  giveUp(): void {
    this.#committer.giveUp();
  }

  // The path of a turn

  #scheduleRun(): void {
    if (this.#isRunScheduled || this.#commitUnderWay !== undefined) return;
    this.#isRunScheduled = true;
    this.#clock.soon(() => {
      this.#isRunScheduled = false;
      if (this.#commitUnderWay === undefined) void this.#run();
    });
  }

  /**
   * The commit counts as under way before the first turn is opened: rows that a broken turn causes have to wait like
   * others.
   */
  #run(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#commitUnderWay = promise;
    void this.#runTurns()
      .then(
        () => this.#endCommit(),
        (error: unknown) => {
          this.#commitUnderWay = undefined;
          for (const shard of this.#shards) shard.lose(error);
        },
      )
      .then(resolve);
    return promise;
  }

  #endCommit(): void {
    this.#commitUnderWay = undefined;
    if (this.#queue.hasReady) this.#scheduleRun();
  }

  async #runTurns(): Promise<void> {
    const turns = this.#openTurns();
    const rows: (ActorTurn | ShardRows)[] = turns.filter((turn) => turn.events.length > 0);
    this.#addOffsets(turns, rows);
    const rejected = rows.length === 0 ? [] : await this.#commitTurns(turns, rows);
    if (rejected.length === 0) for (const turn of turns) turn.actor.shard.releaseTurn(turn);
    else this.#releaseUnrejected(turns, rejected);
  }

  #openTurns(): ActorTurn[] {
    const now = this.#clock.now();
    const turns: ActorTurn[] = [];
    let taken = 0;
    let bytes = 0;
    this.#queue.take((actor) => {
      const turn = actor.shard.openTurn(actor, now);
      taken++;
      if (turn === undefined) return taken < turnsPerCommitMax;
      turns.push(turn);
      bytes += turn.bytes;
      return !turn.isSlow && taken < turnsPerCommitMax && bytes < bytesPerCommitMax;
    });
    return turns;
  }

  /** Adds how far the turns have read the messages of other shards. */
  #addOffsets(turns: readonly ActorTurn[], rows: (ActorTurn | ShardRows)[]): void {
    let read: Map<ActorShard, Origin[]> | undefined;
    for (const { origins, actor } of turns) {
      if (origins.length === 0) continue;
      read ??= new Map();
      const ofShard = read.get(actor.shard);
      if (ofShard === undefined) read.set(actor.shard, [...origins]);
      else ofShard.push(...origins);
    }
    if (read === undefined) return;
    for (const [shard, origins] of read) rows.push(new ShardRows(shard, { offsets: shard.consume(origins) }));
  }

  /** Commits the turns. If nothing can be written any more, their callers get the error. */
  async #commitTurns(
    turns: readonly ActorTurn[],
    rows: readonly (ActorTurn | ShardRows)[],
  ): Promise<Rejected<ActorTurn | ShardRows>[]> {
    try {
      return await this.#committer.commit(rows);
    } catch (error) {
      for (const turn of turns) turn.fail(error);
      throw error;
    }
  }

  /**
   * A turn is not written if the store rejects its data, or if its shard is lost: then all turns of that shard fail,
   * also those without rows.
   */
  #releaseUnrejected(turns: readonly ActorTurn[], rejected: readonly Rejected<ActorTurn | ShardRows>[]): void {
    const lost = new Map<ActorShard, unknown>();
    const errors = new Map<unknown, unknown>();
    for (const { part, error } of rejected) {
      errors.set(part, error);
      const shard = part instanceof ShardRows ? part.shard : part.actor.shard;
      if (hasCode(error, "STORE_FENCED")) lost.set(shard, error);
    }
    for (const turn of turns) {
      const { shard } = turn.actor;
      if (lost.has(shard)) turn.fail(lost.get(shard));
      else if (errors.has(turn)) shard.rejectTurn(turn, errors.get(turn));
      else shard.releaseTurn(turn);
    }
    for (const [shard, error] of lost) shard.lose(error);
  }

  // Commits without turns

  /** Writes rows that no turn brings along; they wait until no other commit is under way. */
  async commit(shard: ActorShard, rows: OwnRows): Promise<void> {
    const rejected = await this.#runExclusive(() => {
      return this.#committer.commit([new ShardRows(shard, typeof rows === "function" ? rows() : rows)]);
    });
    for (const { error } of rejected) {
      if (hasCode(error, "STORE_FENCED")) shard.lose(error);
      throw error;
    }
  }

  /** Releases the shard in the store, which is its owner's last write. `STORE_FENCED` if the shard was lost before. */
  async releaseShard(shard: ActorShard): Promise<void> {
    await this.#runExclusive(() => this.#committer.release(new ShardRows(shard, {})));
  }

  async #runExclusive<T>(commit: () => Promise<T>): Promise<T> {
    while (this.#commitUnderWay !== undefined) await this.#commitUnderWay;
    const done = commit();
    this.#commitUnderWay = done.then(
      () => this.#endCommit(),
      () => this.#endCommit(),
    );
    return await done;
  }

  /** Resolves when all messages that the shard's instances have by now are handled, and that is durable. */
  async flush(shard: ActorShard): Promise<void> {
    const concerns = (actor: InstanceActor): boolean => actor.shard === shard;
    this.#queue.flushDelayed();
    for (;;) {
      const isPreparing = this.#queue.isPreparingAny(concerns);
      if (this.#commitUnderWay === undefined && !isPreparing && !this.#queue.hasReadyOf(concerns)) return;
      await (this.#commitUnderWay ?? (isPreparing ? this.#queue.whenSomePrepared() : this.#run()));
      this.#queue.flushDelayed();
    }
  }
}
