import type { TestContext } from "node:test";
import { noChanges } from "../../../src/stores/store.ts";
import type { Batch, Changes, Store } from "../../../src/stores/store.ts";

/** An open store that nobody else uses. `reopen` closes it and opens it again; a store that forgets on close has none. */
export interface Subject {
  readonly store: Store;
  readonly reopen: (() => Promise<Store>) | undefined;
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

/** A fresh store, and the way to close and open it. Undefined, and the test skipped, if the store forgets on close. */
export async function freshDurable(t: TestContext, makeStore: MakeStore): Promise<DurableSubject | undefined> {
  const { store, reopen } = await makeStore();
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
  return { store, reopen: reopenAndClose };
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

  static async claim(store: Store, shard = 0): Promise<Owner> {
    const claim = await store.claimShard(shard, "member-1");
    return new Owner(store, { shard, epoch: claim.epoch, batch: claim.batch });
  }

  next(changes: Partial<Changes>, rest: Partial<Pick<Batch, "lastKey" | "clean">> = {}): Batch {
    const number = this.#number + 1;
    const { lastKey = 0, clean = false } = rest;
    return { shard: this.shard, epoch: this.epoch, number, lastKey, clean, changes: { ...noChanges(), ...changes } };
  }

  async commit(changes: Partial<Changes>, rest: Partial<Pick<Batch, "lastKey" | "clean">> = {}): Promise<void> {
    await this.#store.commit(this.next(changes, rest));
    this.#number += 1;
  }
}
