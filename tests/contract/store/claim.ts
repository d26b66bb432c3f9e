import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import type { ShardClaim } from "../../../src/stores/store.ts";
import { fresh, freshDurable, Owner, withoutEpochs } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow } from "./rows.ts";

/** The epoch of a claim between the times of this machine's clock, which is also the database's, in seconds. */
async function clockAround(
  claim: () => Promise<ShardClaim | undefined>,
): Promise<{ from: number; epoch: number; to: number }> {
  const from = Math.floor(Date.now() / 1000);
  const epoch = (await claim())?.epoch ?? 0;
  return { from, epoch, to: Math.floor(Date.now() / 1000) };
}

export function claimSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: claiming a shard`, () => {
    test("a new shard counts as released and has nothing", async (t) => {
      const store = await fresh(t, makeStore);
      assert.deepEqual(withoutEpochs(await store.claimShard(7, "a")), {
        incarnation: 0,
        lastBatch: 0,
        lastKey: 0,
        released: true,
        previousOwner: "",
      });
    });

    test("each claim raises the epoch, of that shard alone, and at least to the database's clock in seconds", async (t) => {
      const store = await fresh(t, makeStore);
      const before = await clockAround(() => store.claimShard(1, "a"));
      const epochs: number[] = [];
      for (let claims = 0; claims < 40; claims++) epochs.push((await store.claimShard(1, "b"))?.epoch ?? 0);
      assert.ok(before.from <= before.epoch && before.epoch <= before.to, JSON.stringify(before));
      let last = before.epoch;
      for (const epoch of epochs) assert.ok(epoch > last && (last = epoch) > 0, epochs.join(" "));
      const other = await clockAround(() => store.claimShard(2, "b"));
      assert.ok(other.from <= other.epoch && other.epoch <= other.to, JSON.stringify(other));
    });

    test("a claim tells the last batch and the highest key", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({}, { lastKey: 5 });
      await owner.commit({}, { lastKey: 9 });
      assert.deepEqual(withoutEpochs(await store.claimShard(0, "b")), {
        incarnation: 0,
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
      assert.deepEqual(withoutEpochs(await again.claimShard(0, "b")), {
        incarnation: 0,
        lastBatch: 1,
        lastKey: 1,
        released: true,
        previousOwner: "member-1",
      });
      assert.deepEqual(await again.loadHistory([1]), [row]);
    });
  });
}
