import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import { fresh, freshDurable, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow } from "./rows.ts";

export function claimSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: claiming a shard`, () => {
    test("a new shard counts as released and has nothing", async (t) => {
      const store = await fresh(t, makeStore);
      assert.deepEqual(await store.claimShard(7, "a"), {
        epoch: 1,
        lastBatch: 0,
        lastKey: 0,
        released: true,
        previousOwner: "",
      });
    });

    test("each claim raises the epoch, of that shard alone", async (t) => {
      const store = await fresh(t, makeStore);
      await store.claimShard(1, "a");
      assert.equal((await store.claimShard(1, "b"))?.epoch, 2);
      assert.equal((await store.claimShard(2, "b"))?.epoch, 1);
    });

    test("a claim tells the last batch and the highest key", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({}, { lastKey: 5 });
      await owner.commit({}, { lastKey: 9 });
      assert.deepEqual(await store.claimShard(0, "b"), {
        epoch: 2,
        lastBatch: 2,
        lastKey: 9,
        released: false,
        previousOwner: "member-1",
      });
    });

    test("released is the last owner's last word, and holds for one claim", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({}, { released: true });
      assert.equal((await store.claimShard(0, "b"))?.released, true);
      assert.equal((await store.claimShard(0, "c"))?.released, false);
    });

    test("a commit after a release makes the shard unreleased again", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({}, { released: true });
      await owner.commit({});
      assert.equal((await store.claimShard(0, "b"))?.released, false);
    });

    test("an open store is not opened again", async (t) => {
      const store = await fresh(t, makeStore);
      await assert.rejects(store.open(), (error) => hasCode(error, "STORE_LOCKED"));
    });

    test("a closed store answers nothing, and closing it again is harmless", async (t) => {
      const store = await fresh(t, makeStore);
      await store.close();
      await store.close();
      await assert.rejects(store.loadOutbox([0]), (error) => hasCode(error, "ENGINE_STATE"));
      await assert.rejects(store.claimShard(0, "a"), (error) => hasCode(error, "ENGINE_STATE"));
    });

    test("what was committed, and the epoch, outlive the closing", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      const row = historyRow({ instance: 1, turn: 0 });
      await (await Owner.claim(subject.store)).commit({ history: [row] }, { lastKey: 1, released: true });
      const again = await subject.reopen();
      assert.deepEqual(await again.claimShard(0, "b"), {
        epoch: 2,
        lastBatch: 1,
        lastKey: 1,
        released: true,
        previousOwner: "member-1",
      });
      assert.deepEqual(await again.loadHistory([1]), [row]);
    });
  });
}
