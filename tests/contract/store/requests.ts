import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import { fresh, freshDurable, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow, requestRow } from "./rows.ts";

const isData = (error: unknown) => hasCode(error, "STORE_DATA");

export function requestsSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: requests that were carried out`, () => {
    test("one is known by its shard and key", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 1);
      assert.equal(await store.findRequest(1, "k"), undefined);
      await owner.commit({ requests: [requestRow({ shard: 1, idempotencyKey: "k" })] });
      assert.ok(await store.findRequest(1, "k"));
      assert.equal(await store.findRequest(2, "k"), undefined);
      assert.equal(await store.findRequest(1, "K"), undefined);
      assert.equal(await store.findRequest(1, "k "), undefined);
      assert.equal(await store.findRequest(1, ""), undefined);
    });

    test("a refused batch leaves none behind", async (t) => {
      const store = await fresh(t, makeStore);
      const zombie = await Owner.claim(store);
      await Owner.claim(store);
      await assert.rejects(zombie.commit({ requests: [requestRow({ idempotencyKey: "k" })] }));
      assert.equal(await store.findRequest(0, "k"), undefined);
    });

    test("it is carried out once: the second is STORE_DATA and its whole batch is undone", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two] = [await Owner.claim(store, 1), await Owner.claim(store, 2)];
      await one.commit({ requests: [requestRow({ shard: 1, idempotencyKey: "k" })] });
      const again = {
        requests: [requestRow({ shard: 1, idempotencyKey: "k" })],
        history: [historyRow({ instance: 1, turn: 0 })],
      };
      await assert.rejects(one.commit(again), isData);
      assert.deepEqual(await store.loadHistory([1]), []);
      await two.commit({ requests: [requestRow({ shard: 2, idempotencyKey: "k" })] });
    });

    test("one that was refused is found with the reason", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const row = requestRow({ idempotencyKey: "k", refusal: '{"code":"INSTANCE_STATE"}' });
      await owner.commit({ requests: [row] });
      assert.deepEqual(await store.findRequest(0, "k"), row);
    });

    test("those from before a time are forgotten, of that shard alone", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store, 1), await Owner.claim(store, 2)] as const;
      const requests = [1, 2].flatMap((shard) =>
        [100, 200, 300].map((at) => requestRow({ shard, idempotencyKey: `${at}`, at })),
      );
      await Owner.commitTogether(owners, { requests });
      await owners[0].commit({ requestsForgotten: [{ shard: 1, before: 200 }] });
      const known = async (shard: number) =>
        await Promise.all(["100", "200", "300"].map((key) => store.findRequest(shard, key).then(Boolean)));
      assert.deepEqual(await known(1), [false, true, true]);
      assert.deepEqual(await known(2), [true, true, true]);
      await owners[0].commit({ requests: [requestRow({ shard: 1, idempotencyKey: "100", at: 400 })] });
      assert.deepEqual(await known(1), [true, true, true]);
    });

    test("forgetting comes last: what the same batch brings in from before that time goes too", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const requests = [requestRow({ idempotencyKey: "old", at: 1 }), requestRow({ idempotencyKey: "new", at: 5 })];
      await owner.commit({ requests, requestsForgotten: [{ shard: 0, before: 5 }] });
      assert.equal(await store.findRequest(0, "old"), undefined);
      assert.ok(await store.findRequest(0, "new"));
    });

    test("they outlive the closing", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      await (await Owner.claim(subject.store)).commit({ requests: [requestRow({ idempotencyKey: "k" })] });
      assert.ok(await (await subject.reopen()).findRequest(0, "k"));
    });
  });
}
