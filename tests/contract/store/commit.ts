import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow, instanceRow, outboxRow } from "./rows.ts";

const isFenced = (error: unknown) => hasCode(error, "STORE_FENCED");
const isData = (error: unknown) => hasCode(error, "STORE_DATA");

export function commitSuite(name: string, makeStore: MakeStore): void {
  fenceSuite(name, makeStore);
  atomicitySuite(name, makeStore);
}

function fenceSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: the fence`, () => {
    test("an older epoch is refused and leaves nothing behind", async (t) => {
      const store = await fresh(t, makeStore);
      const zombie = await Owner.claim(store);
      const owner = await Owner.claim(store);
      await assert.rejects(zombie.commit({ history: [historyRow({ instance: 1, turn: 0 })] }), isFenced);
      assert.deepEqual(await store.loadHistory([1]), []);
      await owner.commit({ history: [historyRow({ instance: 1, turn: 0 })] });
    });

    test("an older epoch is refused also if its batch has the number that landed last", async (t) => {
      const store = await fresh(t, makeStore);
      const zombie = await Owner.claim(store);
      const owner = await Owner.claim(store);
      await owner.commit({});
      await assert.rejects(zombie.commit({}), isFenced);
    });

    test("a shard that nobody claimed is refused", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 1);
      await assert.rejects(store.commit(owner.next({}, { shard: 2 })), isFenced);
    });

    test("a batch that had landed is answered with success and written once", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const batch = owner.next({ history: [historyRow({ instance: 1, turn: 0 })] });
      await store.commit(batch);
      await store.commit(batch);
      assert.equal((await store.loadHistory([1])).length, 1);
    });

    test("a number other than the next or the last is refused", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({});
      await owner.commit({});
      await assert.rejects(store.commit(owner.next({}, { number: 1 })), isFenced);
      await assert.rejects(store.commit(owner.next({}, { number: 4 })), isFenced);
    });

    test("shards do not fence each other", async (t) => {
      const store = await fresh(t, makeStore);
      const one = await Owner.claim(store, 1);
      const two = await Owner.claim(store, 2);
      await one.commit({});
      await two.commit({});
      await one.commit({});
    });

    test("commits sent without waiting land in order", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await Promise.all([1, 2, 3].map((number) => store.commit(owner.next({}, { number }))));
      assert.equal((await store.claimShard(0, "b"))?.lastBatch, 3);
    });
  });
}

function atomicitySuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: all of a batch or nothing`, () => {
    test("a turn is written once: the second is STORE_DATA and its whole batch is undone", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const first = historyRow({ instance: 1, turn: 0 });
      await owner.commit({ history: [first] }, { lastKey: 1 });
      const twice = { instances: [instanceRow({ key: 2 })], history: [historyRow({ instance: 2, turn: 0 }), first] };
      await assert.rejects(owner.commit(twice, { lastKey: 2 }), isData);
      assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 10 }), []);
      assert.deepEqual(await store.loadHistory([1, 2]), [first]);
    });

    test("after a refused batch the same number is free for another", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ outbox: [outboxRow({ target: 1, number: 1 })] });
      await assert.rejects(owner.commit({ outbox: [outboxRow({ target: 1, number: 1 })] }), isData);
      await owner.commit({ outbox: [outboxRow({ target: 1, number: 2 })] });
      assert.equal((await store.loadOutbox([1])).length, 2);
    });

    test("a batch belongs to the store once it is sent", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const rows = [historyRow({ instance: 1, turn: 0 })];
      const sent = owner.commit({ history: rows });
      rows.length = 0;
      await sent;
      assert.equal((await store.loadHistory([1])).length, 1);
    });

    test("what was read is the reader's own", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ instances: [instanceRow({ key: 1 })] });
      const [read] = await store.listUnfinished(0, { after: 0, limit: 1 });
      Object.assign(read ?? {}, { id: "changed" });
      assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 1 }), [instanceRow({ key: 1 })]);
    });
  });
}
