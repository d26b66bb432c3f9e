import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { numberBefore } from "../../../src/stores/message-number.ts";
import { outboxRow } from "./rows.ts";
import { fresh, freshDurable, type MakeStore, Owner } from "./subject.ts";

export function incarnationSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: a new incarnation`, () => {
    test("is above the last, and at least the database's clock in seconds; claims and views show it", async (t) => {
      const store = await fresh(t, makeStore);
      const from = Math.floor(Date.now() / 1000);
      const incarnations: number[] = [];
      for (let i = 0; i < 5; i++) incarnations.push(await store.beginIncarnation());
      const [first = 0] = incarnations;
      assert.ok(first >= from, `${first} is not before ${from}`);
      assert.deepEqual(
        incarnations,
        [...new Set(incarnations)].sort((a, b) => a - b),
      );
      assert.equal((await store.heartbeat("nobody")).incarnation, incarnations.at(-1));
      assert.equal((await store.claimShard(0, "a"))?.incarnation, incarnations.at(-1));
    });

    test("raises every epoch, so that earlier owners are fenced, and leaves owners and batches as they are", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store, 1, "a"), await Owner.claim(store, 2, "import/x")] as const;
      await owners[0].commit({}, { released: true });
      await owners[1].commit({});
      await store.beginIncarnation();
      const { shards } = await store.heartbeat("nobody");
      assert.deepEqual(
        shards.map(({ owner, lastBatch, released }) => [owner, lastBatch, released]),
        [
          ["a", 1, true],
          ["import/x", 1, false],
        ],
      );
      for (const [place, owner] of owners.entries()) {
        assert.ok((shards[place]?.epoch ?? 0) > owner.epoch);
        await assert.rejects(owner.commit({}));
      }
    });

    test("numbers messages anew: none is lost, and none gets a number that was there before", async (t) => {
      const store = await fresh(t, makeStore);
      const one = await Owner.claim(store, 1);
      const numbers = [1, 2, 3];
      await one.commit({ outbox: numbers.map((number) => outboxRow({ source: 1, target: 2, number })) });
      const two = await Owner.claim(store, 2);
      await two.commit({ offsets: [{ shard: 2, source: 1, number: 1 }] });
      for (let i = 0; i < 2; i++) {
        const before = numberBefore(await store.beginIncarnation());
        const found = (await store.loadOutbox([2])).map(({ number }) => number - before);
        assert.deepEqual(found, [2, 3]);
        assert.deepEqual(await store.loadOffsets(2), [{ shard: 2, source: 1, number: before + 1 }]);
        assert.deepEqual(await store.loadSent(1), [{ target: 2, number: before + 3 }]);
      }
    });

    test("outlives the closing", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      const incarnation = await subject.store.beginIncarnation();
      const again = await subject.reopen();
      assert.equal((await again.heartbeat("nobody")).incarnation, incarnation);
    });
  });
}
