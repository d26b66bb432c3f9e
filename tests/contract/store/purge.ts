import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Changes } from "../../../src/stores/store.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { finishedRow, historyRow, instanceRow, textOf } from "./rows.ts";

/** Rows of one instance in every table that has any. */
function everythingOf(key: number): Partial<Changes> {
  return {
    instances: [instanceRow({ key })],
    finished: [finishedRow({ key, history: textOf(key, [7, 8]) })],
    history: [historyRow({ instance: key, turn: 0 }), historyRow({ instance: key, turn: 1 })],
    payloads: [{ instance: key, ref: 1, body: "1" }],
  };
}

export function purgeSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: purge`, () => {
    test("nothing of the instance is left, and its neighbours keep everything", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      for (const key of [1, 2, 3]) await owner.commit(everythingOf(key));
      await owner.commit({ purged: [2] });
      const keys = (await store.listInstances({ limit: 10 })).map((row) => row.key);
      assert.deepEqual(keys, [3, 3, 1, 1]);
      assert.equal(await store.findFinished("instance-2"), undefined);
      assert.deepEqual(
        (await store.loadHistory([1, 2, 3])).map((row) => row.instance),
        [1, 1, 1, 1, 3, 3, 3, 3],
      );
      await assert.rejects(store.loadPayloads(2, [1]));
      assert.deepEqual(await store.loadPayloads(3, [1]), ["1"]);
    });

    test("it comes first: a batch may write the same instance anew", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit(everythingOf(1));
      await owner.commit({ purged: [1], history: [historyRow({ instance: 1, turn: 0 })] });
      assert.deepEqual(await store.loadHistory([1]), [historyRow({ instance: 1, turn: 0 })]);
      assert.deepEqual(await store.listInstances({ limit: 10 }), []);
    });

    test("an unknown instance is no trouble", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ purged: [99] });
    });
  });
}
