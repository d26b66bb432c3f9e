import { randomUUID } from "node:crypto";
import { EngineError, hasCode } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { FencingToken } from "../runtime/fencing-token.ts";
import { lastKeyOf, shardOfId } from "../stores/instance-key.ts";
import { numberBefore } from "../stores/message-number.ts";
import {
  type Changes,
  type ClusterView,
  type Fenced,
  noChanges,
  type ShardClaim,
  type Store,
} from "../stores/store.ts";
import { importerName, isBeingImported, isImporter } from "../stores/importer.ts";
import { refuseLiving, viewOf } from "./resting-store.ts";
import { StoreContents } from "./store-contents.ts";

/** Maximum number and length of rows per commit; the last rows may pass it. */
const rowsPerCommit = 2000;
const lengthPerCommit = 4 * 1024 * 1024;

/** Default number of shards of a cluster. */
const clusterShards = 128;

const shardsMax = 8192;

/**
 * A store that is being imported into: the import owns all shards and commits batches, fenced like those of any owner.
 *
 * - X1 It has no other instances: it was empty when the shards were claimed, or had what an interrupted import left.
 * - X2 Until the import releases its shards, all in one commit, the store counts as half imported.
 */
export class TargetStore {
  readonly store: Store;
  readonly shardCount: number;
  readonly #importer = importerName(randomUUID());
  #tokens: readonly FencingToken[] = [];
  #incarnation = 0;
  #changes = noChanges();
  readonly #touched = new Set<number>();
  #rows = 0;
  #length = 0;

  private constructor(store: Store, shardCount: number) {
    this.store = store;
    this.shardCount = shardCount;
  }

  /**
   * Claims all shards, and removes what an interrupted import left. `STORE_LOCKED` if engines run on it, `OPTION_INVALID` if it has
   * instances, or another number of shards than is asked for.
   */
  static async claim(store: Store, shards: number | undefined): Promise<TargetStore> {
    const view = await viewOf(store);
    refuseLiving(view, "imported into");
    const target = new TargetStore(store, await settleShards(store, shards));
    const isLeftover = view.shards.length > 0 && view.shards.every(isBeingImported);
    if (!isLeftover) await target.#refuseUnlessEmpty();
    const claims: ShardClaim[] = [];
    try {
      await target.#claimAll(claims);
      refuseLiving(await viewOf(store), "imported into");
      if (isLeftover) refuseUnlessLeftover(claims, view);
      else await target.#refuseUnlessEmpty();
    } catch (error) {
      await target.#passOn(claims.map(({ previousOwner: owner, released }) => ({ owner, released })));
      throw error;
    }
    if (isLeftover) await target.#empty();
    return target;
  }

  /** Instances of one workflow may have several owners, which apply at its gate by message. */
  get sharesInstances(): boolean {
    return this.store.clusters === "always" || this.shardCount > 1;
  }

  get contents(): StoreContents {
    return new StoreContents(this.store, this.#shards());
  }

  /** Highest key that was ever assigned, by shard. */
  get lastKeys(): number[] {
    return this.#tokens.map(({ lastKey }) => lastKey);
  }

  /** Number before that of the first message between two shards. */
  get numberBefore(): number {
    return numberBefore(this.#incarnation);
  }

  shardOf(id: string): number {
    return shardOfId(id, this.shardCount);
  }

  /** Reserves keys in each shard. `OPTION_INVALID` if a shard has no more. */
  reserveKeys(counts: ReadonlyMap<number, number>): void {
    for (const [shard, count] of counts) {
      const token = this.#token(shard);
      token.lastKey += count;
      if (token.lastKey <= lastKeyOf(shard)) continue;
      throw new EngineError(
        "OPTION_INVALID",
        `shard ${shard} of the store has no keys left for so many instances; give a database with more shards`,
      );
    }
  }

  /** Adds changes to the next commit. `length` is the approximate length of their texts. */
  async put(shard: number, changes: Partial<Changes>, length: number): Promise<void> {
    this.#touched.add(shard);
    this.#length += length;
    for (const table of Object.keys(changes) as (keyof Changes)[]) {
      const rows: unknown[] = this.#changes[table];
      for (const row of changes[table] ?? []) rows.push(row);
      this.#rows += changes[table]?.length ?? 0;
    }
    if (this.#rows >= rowsPerCommit || this.#length >= lengthPerCommit) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#rows === 0) return;
    const tokens = Array.from(this.#touched, (shard) => this.#token(shard));
    const changes = this.#changes;
    this.#forget();
    await this.#commit(tokens, { changes, released: false });
  }

  /** Releases all shards: the store is complete, and engines may use it. */
  async release(): Promise<void> {
    await this.flush();
    await this.#commit(this.#tokens, { changes: noChanges(), released: true });
  }

  /** Restores the ownership of the exported store, which the next owner of the shards finds. */
  async passOn(last: Ownership): Promise<void> {
    await this.#passOn(this.#shards().map(() => last));
  }

  /** Empties the store. `STORE_LOCKED` if another owner has claimed it. */
  async abandon(): Promise<void> {
    const { shards } = await viewOf(this.store);
    if (!shards.every(({ owner }) => owner === this.#importer)) throw takenOver();
    // A commit that was under way may have landed or not: claiming again returns the number of the last batch.
    await this.#claimAll([]);
    await this.#empty();
    await this.release();
  }

  async #claimAll(claims: ShardClaim[]): Promise<void> {
    for (const shard of this.#shards()) {
      const claim = await this.store.claimShard(shard, this.#importer);
      if (claim === undefined) throw takenOver();
      claims.push(claim);
    }
    this.#tokens = claims.map((claim, shard) => new FencingToken(shard, claim));
    this.#incarnation = claims[0]?.incarnation ?? 0;
  }

  async #refuseUnlessEmpty(): Promise<void> {
    const found = await this.store.listInstances({ limit: 1 });
    const messages = await this.store.loadOutbox(this.#shards());
    if (found.length + messages.length === 0) return;
    throw new EngineError(
      "OPTION_INVALID",
      "the store has instances of its own, and an import needs an empty store; give a new database, or purge its instances first",
    );
  }

  async #empty(): Promise<void> {
    this.#forget();
    for await (const page of this.contents.keys()) {
      for (const { key, id } of page) await this.put(this.shardOf(id), { purged: [key] }, 0);
    }
    for (const shard of this.#shards()) {
      const last = new Map((await this.store.loadOutbox([shard])).map(({ source, number }) => [source, number]));
      const offsets = Array.from(last, ([source, number]) => ({ shard, source, number }));
      if (offsets.length > 0) await this.put(shard, { offsets }, 0);
    }
    await this.flush();
  }

  /** Sets the last owner of each shard. Another member may claim shards meanwhile, which then keep that owner. */
  async #passOn(lasts: readonly Ownership[]): Promise<void> {
    let tokens: FencingToken[] = [];
    for (const [shard, { owner, released }] of lasts.entries()) {
      // A completed import must never look as if it were incomplete.
      const claim = await this.store.claimShard(shard, released && isImporter(owner) ? "" : owner);
      if (claim !== undefined && released) tokens.push(new FencingToken(shard, claim));
    }
    while (tokens.length > 0) {
      try {
        return await this.#commit(tokens, { changes: noChanges(), released: true });
      } catch (error) {
        if (!hasCode(error, "STORE_FENCED")) throw error;
        const { shards: lost } = error as Fenced;
        tokens = tokens.filter(({ shard }) => !lost.includes(shard));
      }
    }
  }

  async #commit(
    tokens: readonly FencingToken[],
    { changes, released }: { changes: Changes; released: boolean },
  ): Promise<void> {
    await this.store.commit({ fences: tokens.map((token) => token.fence(released)), changes });
    for (const token of tokens) token.batch++;
  }

  #forget(): void {
    this.#changes = noChanges();
    this.#touched.clear();
    this.#rows = 0;
    this.#length = 0;
  }

  #token(shard: number): FencingToken {
    return this.#tokens[shard] as FencingToken;
  }

  #shards(): number[] {
    return Array.from({ length: this.shardCount }, (_, shard) => shard);
  }
}

/** Last owner of a shard, and whether it released the shard. */
export interface Ownership {
  readonly owner: string;
  readonly released: boolean;
}

async function settleShards(store: Store, wanted: number | undefined): Promise<number> {
  // Checked first, because the number cannot be changed later.
  if (wanted !== undefined) checkShards(store, wanted);
  const settled = await store.settleShardCount(wanted ?? (store.clusters === "always" ? clusterShards : 1));
  if (settled === (wanted ?? settled)) return settled;
  throw new EngineError(
    "OPTION_INVALID",
    `the store has ${settled} shards, which cannot become ${wanted}; leave "shards" out, or give a new database`,
  );
}

function checkShards({ clusters }: Store, wanted: number): void {
  const most = clusters === "never" ? 1 : shardsMax;
  if (Number.isInteger(wanted) && wanted >= 1 && wanted <= most) return;
  const range = most === 1 ? "1, because an embedded store has no more" : `a whole number from 1 to ${most}`;
  throw new EngineError("OPTION_INVALID", `"shards" must be ${range}, got ${preview(wanted)}`);
}

/** `STORE_LOCKED` if another import was completed, or an engine claimed shards, since the view was taken. */
function refuseUnlessLeftover(claims: readonly ShardClaim[], view: ClusterView): void {
  for (const { shard, owner } of view.shards) {
    const claim = claims[shard];
    if (claim === undefined || claim.released || claim.previousOwner !== owner) throw takenOver();
  }
}

/** The error for a store that another owner has claimed; its rows are left alone. */
export function takenOver(cause?: unknown): EngineError {
  return new EngineError(
    "STORE_LOCKED",
    "the import was interrupted, because an engine or another import has taken over the store; stop the others, and import again into an empty store",
    { cause },
  );
}
