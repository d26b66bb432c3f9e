import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fresh, freshDurable, freshUsers } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

export function shardCountSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: the number of shards`, () => {
    test("the first to say it says it for ever", async (t) => {
      const store = await fresh(t, makeStore);
      assert.equal(await store.settleShardCount(16), 16);
      assert.equal(await store.settleShardCount(64), 16);
      assert.equal(await store.settleShardCount(16), 16);
    });

    test("of many who say it at once, one is heard by all", async (t) => {
      const users = await freshUsers(t, makeStore, 5);
      const told = await Promise.all(users.map((user, i) => user.settleShardCount(10 + i)));
      assert.deepEqual(new Set(told).size, 1);
      assert.ok(told[0] !== undefined && told[0] >= 10 && told[0] < 15);
    });

    test("it outlives the closing", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      await subject.store.settleShardCount(4);
      assert.equal(await (await subject.reopen()).settleShardCount(8), 4);
    });
  });
}
