import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../../src/stores/store.ts";
import { fresh, freshDurable, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { outboxRow } from "./rows.ts";

/** Source, target and number of what is there. */
async function messages(store: Store, targets: readonly number[]): Promise<number[][]> {
  return (await store.loadOutbox(targets)).map(({ source, target, number }) => [source, target, number]);
}

const threeMessages = (ends: { source: number; target: number }) =>
  [1, 2, 3].map((number) => outboxRow({ ...ends, number }));

export function outboxSuite(name: string, makeStore: MakeStore): void {
  undeliveredSuite(name, makeStore);
  marksSuite(name, makeStore);
  sentSuite(name, makeStore);
}

function undeliveredSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: messages`, () => {
    test("they are fetched by target, in the order of target, source and number", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store, 1), await Owner.claim(store, 20)] as const;
      const rows = [
        outboxRow({ source: 20, target: 2, number: 1 }),
        outboxRow({ source: 1, target: 3, number: 2 }),
        outboxRow({ source: 1, target: 2, number: 10 }),
        outboxRow({ source: 1, target: 2, number: 9 }),
        outboxRow({ source: 1, target: 3, number: 1 }),
        outboxRow({ source: 1, target: 10, number: 1 }),
      ];
      await Owner.commitTogether(owners, { outbox: rows });
      assert.deepEqual(await store.loadOutbox([2]), [rows[3], rows[2], rows[0]]);
      assert.deepEqual(await store.loadOutbox([10, 2, 3, 2]), [rows[3], rows[2], rows[0], rows[4], rows[1], rows[5]]);
      assert.deepEqual(await store.loadOutbox([1]), []);
      assert.deepEqual(await store.loadOutbox([]), []);
    });

    test("they are fetched by source, in the order of target and number, until they are consumed", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store, 1), await Owner.claim(store, 20)] as const;
      const rows = [
        outboxRow({ source: 1, target: 3, number: 1 }),
        outboxRow({ source: 20, target: 3, number: 1 }),
        outboxRow({ source: 1, target: 2, number: 10 }),
        outboxRow({ source: 1, target: 2, number: 9 }),
        outboxRow({ source: 1, target: 1, number: 1 }),
      ];
      await Owner.commitTogether(owners, { outbox: rows });
      assert.deepEqual(await store.loadOutboxOf(1), [rows[4], rows[3], rows[2], rows[0]]);
      assert.deepEqual(await store.loadOutboxOf(20), [rows[1]]);
      assert.deepEqual(await store.loadOutboxOf(3), []);
      await owners[0].commit({ offsets: [{ shard: 1, source: 1, number: 1 }] });
      assert.deepEqual(await store.loadOutboxOf(1), [rows[3], rows[2], rows[0]]);
    });

    test("a message to the own shard is a message", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 4);
      await owner.commit({ outbox: [outboxRow({ source: 4, target: 4, number: 1 })] });
      assert.deepEqual(await messages(store, [4]), [[4, 4, 1]]);
    });

    test("ten thousand are one call", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const numbers = Array.from({ length: 10_000 }, (_, i) => i + 1);
      await owner.commit({ outbox: numbers.map((number) => outboxRow({ target: number % 100, number })) });
      assert.equal((await store.loadOutbox(Array.from({ length: 100 }, (_, i) => i))).length, 10_000);
    });
  });
}

function marksSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: marks`, () => {
    test("a mark is replaced by the next of its source", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 1);
      await owner.commit({
        offsets: [
          { shard: 1, source: 9, number: 1 },
          { shard: 1, source: 2, number: 5 },
        ],
      });
      await owner.commit({ offsets: [{ shard: 1, source: 9, number: 4 }] });
      assert.deepEqual(await store.loadOffsets(1), [
        { shard: 1, source: 2, number: 5 },
        { shard: 1, source: 9, number: 4 },
      ]);
      assert.deepEqual(await store.loadOffsets(2), []);
    });

    test("a mark takes the messages up to its number, of that source and target alone", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, five] = [await Owner.claim(store, 1), await Owner.claim(store, 2), await Owner.claim(store, 5)];
      await one.commit({ outbox: threeMessages({ source: 1, target: 5 }) });
      await one.commit({ outbox: threeMessages({ source: 1, target: 6 }) });
      await two.commit({ outbox: threeMessages({ source: 2, target: 5 }) });
      await five.commit({ outbox: threeMessages({ source: 5, target: 1 }) });
      await five.commit({ offsets: [{ shard: 5, source: 1, number: 2 }] });
      assert.deepEqual(await messages(store, [5]), [
        [1, 5, 3],
        [2, 5, 1],
        [2, 5, 2],
        [2, 5, 3],
      ]);
      assert.equal((await messages(store, [6, 1])).length, 6);
    });

    test("a message sent and taken in within one batch is gone", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store), await Owner.claim(store, 1)] as const;
      await Owner.commitTogether(owners, {
        outbox: [outboxRow({ target: 1, number: 1 }), outboxRow({ target: 1, number: 2 })],
        offsets: [{ shard: 1, source: 0, number: 1 }],
      });
      assert.deepEqual(await messages(store, [1]), [[0, 1, 2]]);
    });

    test("a refused mark takes nothing", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ outbox: [outboxRow({ target: 1, number: 1 })] });
      const zombie = await Owner.claim(store, 1);
      await Owner.claim(store, 1);
      await assert.rejects(zombie.commit({ offsets: [{ shard: 1, source: 0, number: 1 }] }));
      assert.deepEqual(await messages(store, [1]), [[0, 1, 1]]);
      assert.deepEqual(await store.loadOffsets(1), []);
    });
  });
}

function sentSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: the last message sent`, () => {
    test("it is known for each target, whether the message was read or not", async (t) => {
      const store = await fresh(t, makeStore);
      const one = await Owner.claim(store, 1);
      const readers = [await Owner.claim(store, 5), await Owner.claim(store, 6)] as const;
      assert.deepEqual(await store.loadSent(1), []);
      for (const target of [7, 5, 6]) await one.commit({ outbox: threeMessages({ source: 1, target }) });
      assert.deepEqual(await store.loadSent(1), [
        { target: 5, number: 3 },
        { target: 6, number: 3 },
        { target: 7, number: 3 },
      ]);
      await Owner.commitTogether(readers, {
        offsets: [
          { shard: 5, source: 1, number: 2 },
          { shard: 6, source: 1, number: 3 },
        ],
      });
      assert.equal((await messages(store, [5, 6])).length, 1);
      assert.deepEqual(await store.loadSent(1), [
        { target: 5, number: 3 },
        { target: 6, number: 3 },
        { target: 7, number: 3 },
      ]);
    });

    test("what others sent, what it was sent itself, and what a receiver says of it, does not count", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store, 1), await Owner.claim(store, 2)] as const;
      await Owner.commitTogether(owners, {
        outbox: [
          ...threeMessages({ source: 2, target: 1 }),
          ...threeMessages({ source: 2, target: 3 }),
          outboxRow({ source: 1, target: 3, number: 1 }),
        ],
        offsets: [
          { shard: 1, source: 2, number: 2 },
          { shard: 1, source: 9, number: 8 },
        ],
      });
      assert.deepEqual(await store.loadSent(1), [{ target: 3, number: 1 }]);
      assert.deepEqual(await store.loadSent(2), [
        { target: 1, number: 3 },
        { target: 3, number: 3 },
      ]);
      assert.deepEqual(await store.loadSent(9), []);
    });

    test("a refused commit has sent nothing", async (t) => {
      const store = await fresh(t, makeStore);
      const zombie = await Owner.claim(store, 1);
      await Owner.claim(store, 1);
      await assert.rejects(zombie.commit({ outbox: threeMessages({ source: 1, target: 2 }) }));
      assert.deepEqual(await store.loadSent(1), []);
    });

    test("it outlives the closing, also when all was read", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      const owner = await Owner.claim(subject.store);
      await owner.commit({ outbox: [outboxRow({ target: 0, number: 1 })] });
      await owner.commit({ offsets: [{ shard: 0, source: 0, number: 1 }] });
      const again = await subject.reopen();
      assert.deepEqual(await again.loadOutbox([0]), []);
      assert.deepEqual(await again.loadSent(0), [{ target: 0, number: 1 }]);
    });
  });
}
