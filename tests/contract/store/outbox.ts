import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { outboxRow } from "./rows.ts";

export function outboxSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: outbox and marks`, () => {
    test("messages are kept per source and target, in the order of their numbers", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 1);
      const rows = [
        outboxRow({ source: 1, target: 3, number: 2 }),
        outboxRow({ source: 1, target: 2, number: 10 }),
        outboxRow({ source: 1, target: 2, number: 9 }),
        outboxRow({ source: 1, target: 3, number: 1 }),
      ];
      await owner.commit({ outbox: rows });
      assert.deepEqual(await store.loadOutbox(1), [rows[2], rows[1], rows[3], rows[0]]);
      assert.deepEqual(await store.loadOutbox(2), []);
    });

    test("an acknowledgement takes all up to its number, of that source and target alone", async (t) => {
      const store = await fresh(t, makeStore);
      const one = await Owner.claim(store, 1);
      const two = await Owner.claim(store, 2);
      const numbers = [1, 2, 3];
      await one.commit({ outbox: numbers.map((number) => outboxRow({ source: 1, target: 5, number })) });
      await one.commit({ outbox: numbers.map((number) => outboxRow({ source: 1, target: 6, number })) });
      await two.commit({ outbox: numbers.map((number) => outboxRow({ source: 2, target: 5, number })) });
      await one.commit({ outboxAcked: [{ target: 5, number: 2 }] });
      const left = async (shard: number) => (await store.loadOutbox(shard)).map((row) => [row.target, row.number]);
      assert.deepEqual(await left(1), [
        [5, 3],
        [6, 1],
        [6, 2],
        [6, 3],
      ]);
      assert.equal((await left(2)).length, 3);
    });

    test("a message sent and acknowledged in one batch is gone", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ outbox: [outboxRow({ target: 1, number: 1 })], outboxAcked: [{ target: 1, number: 1 }] });
      assert.deepEqual(await store.loadOutbox(0), []);
    });

    test("a mark is replaced by the next of its source", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 1);
      await owner.commit({
        marks: [
          { shard: 1, source: 9, number: 1 },
          { shard: 1, source: 2, number: 5 },
        ],
      });
      await owner.commit({ marks: [{ shard: 1, source: 9, number: 4 }] });
      assert.deepEqual(await store.loadMarks(1), [
        { shard: 1, source: 2, number: 5 },
        { shard: 1, source: 9, number: 4 },
      ]);
      assert.deepEqual(await store.loadMarks(2), []);
    });
  });
}
