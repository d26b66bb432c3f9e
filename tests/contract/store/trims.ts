import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import type { Changes, Store } from "../../../src/stores/store.ts";
import { fresh, freshDurable, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { finishedRow, historyRow, instanceRow } from "./rows.ts";

const isFenced = (error: unknown) => hasCode(error, "STORE_FENCED");
const isData = (error: unknown) => hasCode(error, "STORE_DATA");

const numbers = [0, 1, 2, 3, 4];

/** An instance with the turns and references 0 to 4. */
function everythingOf(key: number): Partial<Changes> {
  return {
    instances: [instanceRow({ key })],
    history: numbers.map((turn) => historyRow({ instance: key, turn })),
    payloads: numbers.map((ref) => ({ instance: key, ref, body: `${ref}` })),
  };
}

const whole = { turns: numbers, refs: numbers };

/** Turns and references of an instance that the store has. */
async function leftOf(store: Store, key: number): Promise<typeof whole> {
  const refs: number[] = [];
  for (let ref = 0; ref < 10; ref++) {
    const bodies = await store.loadPayloads(key, [ref]).catch((error: unknown) => {
      if (isData(error)) return [];
      throw error;
    });
    if (bodies.length > 0) refs.push(ref);
  }
  return {
    turns: (await store.loadHistory([key])).map(({ turn }) => turn),
    refs,
  };
}

export function trimsSuite(name: string, makeStore: MakeStore): void {
  goingSuite(name, makeStore);
  batchSuite(name, makeStore);
}

function goingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: what a trim takes away`, () => {
    test("earlier turns and lower references go, and later ones stay as they are", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit(everythingOf(1));
      await owner.commit({ trims: [{ instance: 1, turn: 3, ref: 2 }] });
      assert.deepEqual(await leftOf(store, 1), { turns: [3, 4], refs: [2, 3, 4] });
      assert.deepEqual(
        await store.listHistory(1, { afterTurn: -1, limit: 10 }),
        [3, 4].map((turn) => historyRow({ instance: 1, turn })),
      );
      assert.deepEqual(await store.loadPayloads(1, [4, 2]), ["4", "2"]);
    });

    test("turns and references have bounds of their own, which may lie below or above everything", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit(everythingOf(1));
      await owner.commit({ trims: [{ instance: 1, turn: 0, ref: 0 }] });
      assert.deepEqual(await leftOf(store, 1), { turns: numbers, refs: numbers });
      await owner.commit({ trims: [{ instance: 1, turn: 0, ref: 2 ** 50 }] });
      assert.deepEqual(await leftOf(store, 1), { turns: numbers, refs: [] });
      await owner.commit({ trims: [{ instance: 1, turn: 2 ** 50, ref: 0 }] });
      assert.deepEqual(await leftOf(store, 1), { turns: [], refs: [] });
    });

    test("the instance itself stays, and other instances keep everything, also its neighbours", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      for (const key of [1, 2, 3, 12, 22]) await owner.commit(everythingOf(key));
      await owner.commit({ finished: [finishedRow({ key: 4 })] });
      await owner.commit({ trims: [{ instance: 2, turn: 9, ref: 9 }] });
      assert.deepEqual(await leftOf(store, 2), { turns: [], refs: [] });
      for (const key of [1, 3, 12, 22]) assert.deepEqual(await leftOf(store, key), whole);
      const keys = (await store.listInstances({ limit: 10 })).map(({ key }) => key);
      assert.deepEqual(keys, [22, 12, 4, 3, 2, 1]);
    });

    test("several at once have each their own bounds, and those between them keep everything", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      for (const key of [1, 2, 3, 4]) await owner.commit(everythingOf(key));
      const trims = [
        { instance: 4, turn: 1, ref: 4 },
        { instance: 1, turn: 4, ref: 1 },
        { instance: 3, turn: 2, ref: 2 },
      ];
      await owner.commit({ trims });
      assert.deepEqual(await leftOf(store, 1), { turns: [4], refs: [1, 2, 3, 4] });
      assert.deepEqual(await leftOf(store, 2), whole);
      assert.deepEqual(await leftOf(store, 3), { turns: [2, 3, 4], refs: [2, 3, 4] });
      assert.deepEqual(await leftOf(store, 4), { turns: [1, 2, 3, 4], refs: [4] });
    });

    test("there may be many of them in a batch", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const keys = Array.from({ length: 1200 }, (_, index) => index + 1);
      const turns = keys.flatMap((instance) => [0, 1].map((turn) => historyRow({ instance, turn })));
      await owner.commit({ history: turns, payloads: keys.map((instance) => ({ instance, ref: 1, body: "1" })) });
      const trims = keys.slice(0, -1).map((instance) => ({ instance, turn: 1, ref: 2 }));
      await owner.commit({ trims });
      const left = (await store.loadHistory(keys)).filter(({ turn }) => turn === 0);
      assert.deepEqual(
        left.map(({ instance }) => instance),
        [1200],
      );
      for (const instance of [1, 500, 501, 1199]) await assert.rejects(store.loadPayloads(instance, [1]), isData);
      assert.deepEqual(await store.loadPayloads(1200, [1]), ["1"]);
    });

    test("an instance that has nothing, or is unknown, is no trouble", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ instances: [instanceRow({ key: 1 })] });
      const trims = [1, 99].map((instance) => ({ instance, turn: 5, ref: 5 }));
      await owner.commit({ trims });
      await owner.commit({ trims });
      assert.deepEqual(await leftOf(store, 1), { turns: [], refs: [] });
      assert.deepEqual(await store.listUnfinished(0, { after: 0, limit: 10 }), [instanceRow({ key: 1 })]);
    });

    test("what is gone is still gone after the closing, and what is left is there", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      const owner = await Owner.claim(subject.store);
      await owner.commit(everythingOf(1));
      await owner.commit({ trims: [{ instance: 1, turn: 3, ref: 2 }] });
      assert.deepEqual(await leftOf(await subject.reopen(), 1), { turns: [3, 4], refs: [2, 3, 4] });
    });
  });
}

function batchSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: a trim in its batch`, () => {
    const trims = [{ instance: 1, turn: 5, ref: 5 }];
    /** With what the instance goes on with. */
    const anew: Partial<Changes> = {
      trims,
      history: [historyRow({ instance: 1, turn: 5 })],
      payloads: [{ instance: 1, ref: 5, body: "5" }],
    };

    test("it comes before what the batch writes, which stays", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit(everythingOf(1));
      await owner.commit(anew);
      assert.deepEqual(await leftOf(store, 1), { turns: [5], refs: [5] });
    });

    test("also turns and references below its bounds, whether they were there before or not", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ history: [historyRow({ instance: 1, turn: 2 })] });
      const history = [1, 2].map((turn) => historyRow({ instance: 1, turn, events: "[]" }));
      const payloads = [3].map((ref) => ({ instance: 1, ref, body: "anew" }));
      await owner.commit({ trims, history, payloads });
      assert.deepEqual(await store.loadHistory([1]), history);
      assert.deepEqual(await store.loadPayloads(1, [3]), ["anew"]);
    });

    test("a turn that it leaves is written once: the batch is STORE_DATA, and nothing is trimmed", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit(everythingOf(1));
      const kept = [{ instance: 1, turn: 3, ref: 3 }];
      await assert.rejects(owner.commit({ trims: kept, history: [historyRow({ instance: 1, turn: 3 })] }), isData);
      const payloads = [{ instance: 1, ref: 3, body: "3" }];
      await assert.rejects(owner.commit({ trims: kept, payloads }), isData);
      assert.deepEqual(await leftOf(store, 1), whole);
      await owner.commit({ trims: kept });
    });

    test("of an instance that the same batch purges, nothing is left but what it writes", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      for (const key of [1, 2]) await owner.commit(everythingOf(key));
      const history = [historyRow({ instance: 1, turn: 4 })];
      await owner.commit({ purged: [1], trims: [{ instance: 1, turn: 3, ref: 3 }], history });
      assert.deepEqual(await leftOf(store, 1), { turns: [4], refs: [] });
      assert.deepEqual(await leftOf(store, 2), whole);
    });

    test("with an older epoch nothing is trimmed", async (t) => {
      const store = await fresh(t, makeStore);
      const zombie = await Owner.claim(store);
      await zombie.commit(everythingOf(1));
      const owner = await Owner.claim(store);
      await assert.rejects(zombie.commit(anew), isFenced);
      await assert.rejects(zombie.commit({ trims }), isFenced);
      assert.deepEqual(await leftOf(store, 1), whole);
      await owner.commit(anew);
      assert.deepEqual(await leftOf(store, 1), { turns: [5], refs: [5] });
    });

    test("with one shard lost of several nothing is trimmed", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = [await Owner.claim(store, 0), await Owner.claim(store, 1)] as const;
      await Owner.commitTogether(owners, everythingOf(1));
      await store.claimShard(1, "member-2");
      await assert.rejects(Owner.commitTogether(owners, anew), isFenced);
      assert.deepEqual(await leftOf(store, 1), whole);
    });

    test("sent again it changes nothing", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit(everythingOf(1));
      const batch = owner.next(anew);
      await store.commit(batch);
      const left = [await leftOf(store, 1), await store.loadHistory([1])];
      await store.commit(batch);
      assert.deepEqual([await leftOf(store, 1), await store.loadHistory([1])], left);
    });
  });
}
