import type { Clock } from "../base/clock.ts";
import { hasCode } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Changes, OffsetRow, Store } from "../stores/store.ts";
import { type CommitPart, Committer, type Rejected } from "./committer.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceTurn } from "./instance-turn.ts";
import type { Origin } from "./message.ts";
import { Tombstones } from "./outbox.ts";
import type { FencingToken } from "./fencing-token.ts";
import { Pump } from "./pump.ts";

/** What a lane needs of each shard whose commits it carries. */
export interface LaneShard {
  readonly token: FencingToken;
  /** Handles what is in the actor's inbox; undefined if nothing can come of it. */
  openTurn(actor: InstanceActor, now: number): InstanceTurn | undefined;
  /** Messages that turns about to be written have read; the rows say how far that brings each source. */
  consumed(origins: readonly Origin[]): OffsetRow[];
  /** The turn is durable: lets out what it caused. */
  release(turn: InstanceTurn): void;
  /** The store will never take the turn. */
  reject(turn: InstanceTurn, error: unknown): void;
  /** Another owner has the shard, or nothing can be written any more. */
  lose(error: unknown): void;
}

/** Rows of a shard's own. Where numbers are in them, they are made when it is their turn: in the order of commits. */
export type OwnRows = Partial<Changes> | (() => Partial<Changes>);

/** Some of a shard's own rows, written beside turns or by themselves. */
export class ShardRows implements CommitPart {
  readonly shard: LaneShard;
  readonly #rows: Partial<Changes>;

  constructor(shard: LaneShard, rows: Partial<Changes>) {
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
 */
export class Lane {
  readonly #clock: Clock;
  readonly #committer: Committer;
  readonly #pump: Pump;
  /** Those that wait for the commit under way, or have waited for one before: whom to tell if nothing can be written. */
  readonly #shards = new Set<LaneShard>();

  constructor(parts: { store: Store; clock: Clock; logger: Logger; onHealth: (problem: unknown) => void }) {
    this.#clock = parts.clock;
    this.#committer = new Committer(parts);
    this.#pump = new Pump({
      clock: parts.clock,
      commitTurns: () => this.#commitTurns(),
      onLost: (error) => {
        for (const shard of this.#shards) shard.lose(error);
      },
    });
  }

  enter(shard: LaneShard): void {
    this.#shards.add(shard);
  }

  /** It writes nothing more here. */
  leave(shard: LaneShard): void {
    this.#shards.delete(shard);
    this.#pump.forget(({ host }) => host === shard);
  }

  arrived(actor: InstanceActor, urgency: "now" | "later"): void {
    this.#pump.wake(actor, urgency);
  }

  /** Everything told so far to instances of the shard is durable when it resolves. */
  async flush(shard: LaneShard): Promise<void> {
    await this.#pump.flush(({ host }) => host === shard);
  }

  /** Rows that no turn brings along; they wait until no other commit is under way. */
  async commit(shard: LaneShard, rows: OwnRows): Promise<void> {
    const rejected = await this.#pump.runExclusive(() => {
      return this.#committer.commit([new ShardRows(shard, typeof rows === "function" ? rows() : rows)]);
    });
    for (const { error } of rejected) {
      if (hasCode(error, "STORE_FENCED")) shard.lose(error);
      throw error;
    }
  }

  /** The owner's last word. `STORE_FENCED` if the shard was lost before. */
  async release(shard: LaneShard): Promise<void> {
    await this.#pump.runExclusive(() => this.#committer.release(new ShardRows(shard, {})));
  }

  /** Stops waiting for a store that does not come back. */
  giveUp(): void {
    this.#committer.giveUp();
  }

  async #commitTurns(): Promise<void> {
    const turns = this.#openTurns();
    const toWrite: (InstanceTurn | ShardRows)[] = turns.filter((turn) => turn.events.length > 0);
    this.#addOffsets(turns, toWrite);
    const rejected = toWrite.length === 0 ? [] : await this.#write(turns, toWrite);
    if (rejected.length === 0) for (const turn of turns) turn.actor.host.release(turn);
    else this.#sort(turns, rejected);
  }

  /** Whoever waits for one of the turns is told if nothing can be written any more. */
  async #write(
    turns: readonly InstanceTurn[],
    toWrite: readonly (InstanceTurn | ShardRows)[],
  ): Promise<Rejected<InstanceTurn | ShardRows>[]> {
    try {
      return await this.#committer.commit(toWrite);
    } catch (error) {
      for (const turn of turns) turn.fail(error);
      throw error;
    }
  }

  #openTurns(): InstanceTurn[] {
    const now = this.#clock.now();
    const turns: InstanceTurn[] = [];
    this.#pump.drain((actor) => {
      actor.isBusy = true;
      const turn = actor.host.openTurn(actor, now);
      if (turn === undefined) return 0;
      turns.push(turn);
      return turn.isSlow ? Number.POSITIVE_INFINITY : turn.bytes;
    });
    return turns;
  }

  #addOffsets(turns: readonly InstanceTurn[], toWrite: (InstanceTurn | ShardRows)[]): void {
    let read: Map<LaneShard, Origin[]> | undefined;
    for (const { origins, actor } of turns) {
      if (origins.length === 0) continue;
      read ??= new Map();
      const ofShard = read.get(actor.host);
      if (ofShard === undefined) read.set(actor.host, [...origins]);
      else ofShard.push(...origins);
    }
    if (read === undefined) return;
    for (const [shard, origins] of read) toWrite.push(new ShardRows(shard, { offsets: shard.consumed(origins) }));
  }

  /** Some were not written: the data of one are refused, or a shard is lost with all its turns, also those that wrote nothing. */
  #sort(turns: readonly InstanceTurn[], rejected: readonly Rejected<InstanceTurn | ShardRows>[]): void {
    const lost = new Map<LaneShard, unknown>();
    const refused = new Map<unknown, unknown>();
    for (const { part, error } of rejected) {
      refused.set(part, error);
      const shard = part instanceof ShardRows ? part.shard : part.actor.host;
      if (hasCode(error, "STORE_FENCED")) lost.set(shard, error);
    }
    for (const turn of turns) {
      const { host } = turn.actor;
      if (lost.has(host)) turn.fail(lost.get(host));
      else if (refused.has(turn)) host.reject(turn, refused.get(turn));
      else host.release(turn);
    }
    for (const [shard, error] of lost) shard.lose(error);
  }
}
