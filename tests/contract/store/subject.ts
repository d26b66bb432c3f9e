import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { noChanges } from "../../../src/stores/store.ts";
import type { ClusterView, Batch, Changes, Fence, Store } from "../../../src/stores/store.ts";

/** An open store that nobody else uses. */
export interface Subject {
  readonly store: Store;
  /** Closes it and opens it again; a store that forgets on close has none. */
  readonly reopen: (() => Promise<Store>) | undefined;
  /** Opens another connection to the same database; an embedded store has none. */
  readonly connect: (() => Promise<Store>) | undefined;
}

export interface DurableSubject extends Subject {
  readonly reopen: () => Promise<Store>;
}

export type MakeStore = () => Promise<Subject>;
export type StoreSuite = (name: string, makeStore: MakeStore) => void;

/** A fresh store, closed when the test ends. */
export async function fresh(t: TestContext, makeStore: MakeStore): Promise<Store> {
  const { store } = await makeStore();
  t.after(() => store.close());
  return store;
}

/**
 * Several users of one fresh store: each with a connection of its own where the store is shared, otherwise all with the
 * one there is.
 */
export async function freshUsers(t: TestContext, makeStore: MakeStore, count: number): Promise<[Store, ...Store[]]> {
  const { store, connect } = await makeStore();
  t.after(() => store.close());
  const users: [Store, ...Store[]] = [store];
  while (users.length < count) {
    const user = (await connect?.()) ?? store;
    if (user !== store) t.after(() => user.close());
    users.push(user);
  }
  return users;
}

/** A fresh store, and the way to close and open it. Undefined, and the test skipped, if the store forgets on close. */
export async function freshDurable(t: TestContext, makeStore: MakeStore): Promise<DurableSubject | undefined> {
  const { store, reopen, connect } = await makeStore();
  t.after(() => store.close());
  if (!reopen) {
    t.skip("this store forgets everything when it is closed");
    return undefined;
  }
  const reopenAndClose = async () => {
    const again = await reopen();
    t.after(() => again.close());
    return again;
  };
  return { store, reopen: reopenAndClose, connect };
}

export function batchOf(fences: readonly Fence[], changes: Partial<Changes>): Batch {
  return { fences, changes: { ...noChanges(), ...changes } };
}

/** A shard's owner: counts its batches as the committer does. */
export class Owner {
  readonly #store: Store;
  readonly shard: number;
  readonly epoch: number;
  #number: number;

  private constructor(store: Store, claim: { shard: number; epoch: number; batch: number }) {
    this.#store = store;
    this.shard = claim.shard;
    this.epoch = claim.epoch;
    this.#number = claim.batch;
  }

  static async claim(store: Store, shard = 0, owner = "member-1"): Promise<Owner> {
    const claim = await store.claimShard(shard, owner);
    assert.ok(claim, `shard ${shard} is free for ${owner}`);
    return new Owner(store, { shard, epoch: claim.epoch, batch: claim.lastBatch });
  }

  /** One batch of all their shards. */
  static async commitTogether(
    owners: readonly [Owner, ...Owner[]],
    changes: Partial<Changes>,
    rest: Partial<Fence> = {},
  ): Promise<void> {
    const fences = owners.map((owner) => owner.fence(rest));
    await owners[0].#store.commit(batchOf(fences, changes));
    for (const owner of owners) owner.#number += 1;
  }

  /** Of its next batch. */
  fence(rest: Partial<Fence> = {}): Fence {
    const { shard, epoch } = this;
    return { shard, epoch, number: this.#number + 1, lastKey: 0, released: false, ...rest };
  }

  next(changes: Partial<Changes>, rest: Partial<Fence> = {}): Batch {
    return batchOf([this.fence(rest)], changes);
  }

  async commit(changes: Partial<Changes>, rest: Partial<Fence> = {}): Promise<void> {
    await Owner.commitTogether([this], changes, rest);
  }
}

/** A claim or a row of a shard without its epoch, which depends on the clock. */
export function withoutEpochs(row: { readonly epoch: number } | undefined): object | undefined {
  if (row === undefined) return undefined;
  const { epoch: _, ...rest } = row;
  return rest;
}

/** Each store has a clock of its own, from which epochs come. */
export function viewWithoutEpochs(view: ClusterView): object {
  return { ...view, shards: view.shards.map(withoutEpochs) };
}
