import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { firstKey } from "../../../src/stores/instance-key.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { finishedRow, instanceRow } from "./rows.ts";

export function instancesSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: unfinished instances`, () => {
    test("every field comes back, and the last change of a row stands", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ instances: [instanceRow({ key: 1, active: true, wakeAt: 5, waitingTasks: 3 })] });
      const changed = instanceRow({
        key: 1,
        status: "Paused",
        generation: 3,
        wakeAt: 4_102_444_800_000,
        quarantined: "broke",
      });
      await owner.commit({ instances: [changed] });
      assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 10 }), [changed]);
    });

    test("they are loaded by shard, in pages, in the order of their keys", async (t) => {
      const store = await fresh(t, makeStore);
      for (const shard of [0, 1, 2]) {
        const keys = [2, 0, 1].map((i) => firstKey(shard) + i);
        await (await Owner.claim(store, shard)).commit({ instances: keys.map((key) => instanceRow({ key })) });
      }
      const first = firstKey(1);
      const keysOf = async (page: { after: number; limit: number }) =>
        (await store.listUnfinished(1, page)).map((row) => row.key);
      assert.deepEqual(await keysOf({ after: 0, limit: 2 }), [first, first + 1]);
      assert.deepEqual(await keysOf({ after: first + 1, limit: 2 }), [first + 2]);
      assert.deepEqual(await keysOf({ after: first + 2, limit: 2 }), []);
    });

    test("one that ended is no longer loaded", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ instances: [instanceRow({ key: 1 }), instanceRow({ key: 2 })] });
      await owner.commit({ instancesEnded: [1], finished: [finishedRow({ key: 1 })] });
      assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 10 }), [instanceRow({ key: 2 })]);
    });
  });

  finishedSuite(name, makeStore);
}

function finishedSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: finished instances`, () => {
    test("the newest of an id is found, with every field", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const newest = finishedRow({
        key: 3,
        id: "x",
        status: "Failed",
        reason: "broke",
        generation: 2,
        tasks: 7,
        tasksFailed: 2,
      });
      await owner.commit({ finished: [finishedRow({ key: 2, id: "x" }), newest, finishedRow({ key: 4, id: "xy" })] });
      assert.deepEqual(await store.findFinished("x"), newest);
      assert.equal(await store.findFinished("y"), undefined);
    });

    test("one that goes on is no longer finished, and may finish again", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ finished: [finishedRow({ key: 1 })] });
      await owner.commit({ finishedReopened: [1], instances: [instanceRow({ key: 1, generation: 2 })] });
      assert.equal(await store.findFinished("instance-1"), undefined);
      await owner.commit({ instancesEnded: [1], finished: [finishedRow({ key: 1, generation: 2 })] });
      assert.deepEqual(await store.findFinished("instance-1"), finishedRow({ key: 1, generation: 2 }));
    });

    test("one that went on and finished within one batch is replaced", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ finished: [finishedRow({ key: 1, status: "Failed" })] });
      await owner.commit({ finished: [finishedRow({ key: 1, status: "Success", generation: 2 })] });
      assert.deepEqual(await store.findFinished("instance-1"), finishedRow({ key: 1, generation: 2 }));
      assert.deepEqual(await store.listInstances({ status: ["Failed"], limit: 10 }), []);
    });

    test("retention asks by status and end, oldest first", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({
        finished: [
          finishedRow({ key: 1, createdAt: 30, endedAt: 300 }),
          finishedRow({ key: 2, createdAt: 10, endedAt: 100 }),
          finishedRow({ key: 3, createdAt: 15, endedAt: 200, status: "Failed" }),
          finishedRow({ key: 4, createdAt: 20, endedAt: 200 }),
          finishedRow({ key: 5, createdAt: 5, endedAt: 900 }),
        ],
      });
      const before = async (endedBefore: number, limit: number) =>
        (await store.listFinishedBefore({ status: "Success", endedBefore, limit })).map((row) => row.key);
      assert.deepEqual(await before(300, 10), [2, 4]);
      assert.deepEqual(await before(301, 10), [2, 4, 1]);
      assert.deepEqual(await before(301, 1), [2]);
      const failed = await store.listFinishedBefore({ status: "Failed", endedBefore: 1_000, limit: 10 });
      assert.deepEqual(failed, [{ key: 3, id: "instance-3" }]);
    });
  });
}
