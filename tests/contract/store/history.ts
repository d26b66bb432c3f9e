import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { firstKey } from "../../../src/stores/instance-key.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow } from "./rows.ts";

export function historySuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: history`, () => {
    test("many instances at once, ordered by instance and turn", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const rows = [
        historyRow({ instance: 2, turn: 0 }),
        historyRow({ instance: 1, turn: 1 }),
        historyRow({ instance: 1, turn: 0 }),
        historyRow({ instance: 3, turn: 0 }),
      ];
      await owner.commit({ history: rows });
      await owner.commit({ history: [historyRow({ instance: 1, turn: 10 })] });
      const read = await store.loadHistory([2, 1, 2]);
      assert.deepEqual(
        read.map((row) => [row.instance, row.turn]),
        [
          [1, 0],
          [1, 1],
          [1, 10],
          [2, 0],
        ],
      );
      assert.deepEqual(read[1], rows[1]);
    });

    test("no instances, and instances without history, give nothing", async (t) => {
      const store = await fresh(t, makeStore);
      assert.deepEqual(await store.loadHistory([]), []);
      assert.deepEqual(await store.loadHistory([1, 2]), []);
    });

    test("keys of the highest shard are exact", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 8191);
      const instance = firstKey(8191) + 12_345;
      await owner.commit({
        history: [historyRow({ instance, turn: 0 }), historyRow({ instance: instance + 1, turn: 0 })],
      });
      assert.deepEqual(await store.loadHistory([instance]), [historyRow({ instance, turn: 0 })]);
    });

    test("one instance's history comes a page at a time", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const history = [0, 1, 2, 3, 4].map((turn) => historyRow({ instance: 1, turn }));
      await owner.commit({ history });
      assert.deepEqual(await store.listHistory(1, { afterTurn: -1, limit: 2 }), history.slice(0, 2));
      assert.deepEqual(await store.listHistory(1, { afterTurn: 1, limit: 10 }), history.slice(2));
      assert.deepEqual(await store.listHistory(1, { afterTurn: 4, limit: 10 }), []);
    });

    test("ten thousand instances are one call", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const keys = Array.from({ length: 10_000 }, (_, i) => i + 1);
      await owner.commit({ history: keys.map((instance) => historyRow({ instance, turn: 0 })) });
      assert.equal((await store.loadHistory(keys)).length, 10_000);
    });
  });
}
