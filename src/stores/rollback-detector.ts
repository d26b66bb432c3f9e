import { EngineError, hasCode } from "../base/error.ts";
import type { Batch, ClusterView, Fenced, ShardClaim, Store } from "./store.ts";
import { overrideStore } from "./wrap-store.ts";

/** The last state of a shard that the store has acknowledged to this process, with a claim or a commit. */
interface Acknowledged {
  readonly epoch: number;
  readonly batch: number;
}

/**
 * Notices that the store went back to an earlier state under a running engine: a backup was restored, or a replica was
 * promoted that lacks commits of its primary. What the engine has in memory then describes a future that never was.
 *
 * - D1 Epochs, batches and heartbeats in the store only rise. So an answer must not show less than was acknowledged
 *   before its question was sent; what was acknowledged later may have landed after the answer was made.
 * - D2 Only what was acknowledged to this process counts. What it merely read may never have been durable: a server may
 *   show a commit to others before it is flushed, and lose it in a crash.
 * - D3 The incarnation is that of the first answer. Another one means that a restored store was made known as such.
 */
export class RollbackDetector {
  /** The store to use: its answers are compared. After a rollback it takes no heartbeat, claim or commit any more. */
  readonly store: Store;
  readonly #inner: Store;
  readonly #onRolledBack: (error: EngineError) => void;
  readonly #acknowledged = new Map<number, Acknowledged>();
  /** The last heartbeat that was acknowledged for each id of this process; it has a new one each time it joins. */
  readonly #heartbeats = new Map<string, number>();
  #incarnation: number | undefined;
  #rolledBackBy: EngineError | undefined;

  constructor(store: Store, onRolledBack: (error: EngineError) => void) {
    this.#inner = store;
    this.#onRolledBack = onRolledBack;
    this.store = overrideStore(store, {
      heartbeat: (member, about, since) => this.#beat(member, about, since),
      claimShard: (shard, owner) => this.#claim(shard, owner),
      commit: (batch) => this.#commit(batch),
    });
  }

  /** `STORE_ROLLED_BACK`, and the errors of the store. */
  async #beat(member: string, about: string | undefined, since: number | undefined): Promise<ClusterView> {
    this.#refuseIfRolledBack();
    const shards = new Map(this.#acknowledged);
    const heartbeats = new Map(this.#heartbeats);
    const view = await this.#inner.heartbeat(member, about, since);
    this.#checkIncarnation(view.incarnation);
    if (since !== undefined) leaveOut(shards, view, since);
    this.#checkShards(shards, view);
    this.#checkHeartbeats(heartbeats, view, member);
    const count = view.members.find(({ id }) => id === member)?.heartbeat;
    if (count !== undefined) this.#heartbeats.set(member, Math.max(count, this.#heartbeats.get(member) ?? count));
    return view;
  }

  /** A former id may still be in the store; its heartbeat stands still, while that of the member is raised with each view. */
  #checkHeartbeats(acknowledged: ReadonlyMap<string, number>, view: ClusterView, member: string): void {
    for (const { id, heartbeat } of view.members) {
      const last = acknowledged.get(id);
      if (last === undefined || heartbeat > last || (heartbeat === last && id !== member)) continue;
      throw this.#rolledBack(`its heartbeat ${last} was acknowledged, and the store has ${heartbeat}`);
    }
  }

  #checkShards(acknowledged: ReadonlyMap<number, Acknowledged>, view: ClusterView): void {
    const rows = new Map(view.shards.map((row) => [row.shard, row]));
    for (const [shard, { epoch, batch }] of acknowledged) {
      const row = rows.get(shard);
      if (row !== undefined && row.epoch >= epoch && row.lastBatch >= batch) continue;
      throw this.#wentBack(shard, { epoch, batch }, row);
    }
  }

  /** `STORE_ROLLED_BACK`, and the errors of the store. */
  async #claim(shard: number, owner: string): Promise<ShardClaim | undefined> {
    this.#refuseIfRolledBack();
    const before = this.#acknowledged.get(shard);
    const claim = await this.#inner.claimShard(shard, owner);
    if (claim === undefined) return undefined;
    const { epoch, lastBatch } = claim;
    this.#checkIncarnation(claim.incarnation);
    if (before !== undefined && (epoch <= before.epoch || lastBatch < before.batch)) {
      throw this.#wentBack(shard, before, claim);
    }
    this.#acknowledge(shard, { epoch, batch: lastBatch });
    return claim;
  }

  /** A batch is sent only after the one before it, and the claim, were acknowledged. */
  async #commit(batch: Batch): Promise<void> {
    this.#refuseIfRolledBack();
    try {
      await this.#inner.commit(batch);
    } catch (error) {
      if (hasCode(error, "STORE_FENCED")) this.#checkFences(batch, error as Fenced);
      throw error;
    }
    for (const { shard, epoch, number } of batch.fences) this.#acknowledge(shard, { epoch, batch: number });
  }

  #checkFences({ fences }: Batch, { standings }: Fenced): void {
    for (const { shard, epoch, number } of fences) {
      if (!standings.has(shard)) continue;
      const found = standings.get(shard);
      if (found !== undefined && found.epoch >= epoch && found.lastBatch >= number - 1) continue;
      throw this.#wentBack(shard, { epoch, batch: number - 1 }, found);
    }
  }

  /** An answer may come after that of a later question. */
  #acknowledge(shard: number, state: Acknowledged): void {
    const known = this.#acknowledged.get(shard);
    if (known === undefined || state.epoch > known.epoch || state.batch > known.batch) {
      this.#acknowledged.set(shard, state);
    }
  }

  #checkIncarnation(found: number): void {
    this.#incarnation ??= found;
    if (found !== this.#incarnation) {
      throw this.#rolledBack(`its incarnation was ${this.#incarnation}, and is ${found} since a backup was restored`);
    }
  }

  #wentBack(
    shard: number,
    { epoch, batch }: Acknowledged,
    found: { readonly epoch: number; readonly lastBatch: number } | undefined,
  ): EngineError {
    const has = found === undefined ? "no owner yet" : `epoch ${found.epoch} and batch ${found.lastBatch}`;
    return this.#rolledBack(
      `epoch ${epoch} and batch ${batch} of shard ${shard} were acknowledged, and the shard has ${has}`,
    );
  }

  /** Returns the error of the first reason, which is reported once. */
  #rolledBack(reason: string): EngineError {
    if (this.#rolledBackBy !== undefined) return this.#rolledBackBy;
    const message = `the store went back to an earlier state while this process used it: ${reason}; end every process on it, run "heddle store restored", then start them again`;
    const error = (this.#rolledBackBy = new EngineError("STORE_ROLLED_BACK", message));
    this.#onRolledBack(error);
    return error;
  }

  #refuseIfRolledBack(): void {
    if (this.#rolledBackBy !== undefined) throw this.#rolledBackBy;
  }
}

/**
 * A view of changes has no row of a shard that another member claimed before `since`. One whose acknowledged epoch is not
 * below `since` has its row in any such view.
 */
function leaveOut(acknowledged: Map<number, Acknowledged>, view: ClusterView, since: number): void {
  const rows = new Set(view.shards.map(({ shard }) => shard));
  for (const [shard, { epoch }] of acknowledged) if (epoch < since && !rows.has(shard)) acknowledged.delete(shard);
}
