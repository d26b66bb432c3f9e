import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import { Fenced } from "../../../src/stores/store.ts";
import type { Store } from "../../../src/stores/store.ts";
import { batchOf, fresh, freshUsers, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow, outboxRow } from "./rows.ts";

/** Refused, and exactly these shards are named. */
async function assertFenced(commit: Promise<void>, shards: readonly number[]): Promise<void> {
  await assert.rejects(commit, (error) => {
    assert.ok(hasCode(error, "STORE_FENCED") && error instanceof Fenced, String(error));
    assert.deepEqual(
      error.shards.toSorted((a, b) => a - b),
      shards,
    );
    return true;
  });
}

async function assertBug(commit: Promise<void>): Promise<void> {
  await assert.rejects(commit, (error) => error instanceof Error && error.name === "Bug");
}

type Owners = [one: Owner, two: Owner, three: Owner];

async function claimThree(store: Store): Promise<Owners> {
  return [await Owner.claim(store, 1), await Owner.claim(store, 2), await Owner.claim(store, 3)];
}

/** Somebody else has them now. */
async function lose(store: Store, ...owners: readonly Owner[]): Promise<void> {
  for (const { shard } of owners) await store.claimShard(shard, "member-2");
}

/** A turn of each of the instances 1, 2 and 3. */
const history = [1, 2, 3].map((instance) => historyRow({ instance, turn: 0 }));

async function written(store: Store): Promise<number[]> {
  return (await store.loadHistory([1, 2, 3])).map((row) => row.instance);
}

export function fencesSuite(name: string, makeStore: MakeStore): void {
  togetherSuite(name, makeStore);
  lostSuite(name, makeStore);
  repeatSuite(name, makeStore);
}

function togetherSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: one batch of several shards`, () => {
    test("is written for all of them, each under its own epoch and number", async (t) => {
      const store = await fresh(t, makeStore);
      await lose(store, await Owner.claim(store, 2), await Owner.claim(store, 2));
      const owners = await claimThree(store);
      await owners[2].commit({});
      await owners[2].commit({});
      await Owner.commitTogether(owners, { history });
      assert.deepEqual(await written(store), [1, 2, 3]);
      const claims = await Promise.all([1, 2, 3].map((shard) => store.claimShard(shard, "b")));
      assert.deepEqual(
        claims.map((claim) => claim?.lastBatch),
        [1, 1, 3],
      );
    });

    test("goes on with any of them alone, and together again", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      await Owner.commitTogether([one, two], {});
      await two.commit({});
      await Owner.commitTogether([three, two, one], { history });
      await Owner.commitTogether([one, three], {});
      assert.deepEqual(await written(store), [1, 2, 3]);
    });

    test("has a last key and a last word for each", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      const fences = [
        one.fence({ lastKey: 5 }),
        two.fence({ lastKey: 6, released: true }),
        three.fence({ lastKey: 7 }),
      ];
      await store.commit(batchOf(fences, {}));
      const claims = await Promise.all([1, 2, 3].map((shard) => store.claimShard(shard, "b")));
      assert.deepEqual(
        claims.map((claim) => [claim?.lastKey, claim?.released]),
        [
          [5, false],
          [6, true],
          [7, false],
        ],
      );
    });

    test("is undone for all of them if the data is refused, and the numbers are free again", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = await claimThree(store);
      await owners[1].commit({ history: history.slice(1, 2) });
      const message = outboxRow({ source: 1, target: 3, number: 1 });
      await assert.rejects(Owner.commitTogether(owners, { history, outbox: [message] }), (error) =>
        hasCode(error, "STORE_DATA"),
      );
      assert.deepEqual(await written(store), [2]);
      assert.deepEqual(await store.loadOutbox([3]), []);
      await Owner.commitTogether(owners, { history: [history[0]!, history[2]!], outbox: [message] });
      assert.deepEqual(await written(store), [1, 2, 3]);
    });

    test("needs a fence", async (t) => {
      const store = await fresh(t, makeStore);
      await assertBug(store.commit(batchOf([], { history })));
      assert.deepEqual(await written(store), []);
    });
  });
}

function lostSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: one batch of several shards, of which some are lost`, () => {
    test("nothing is written, whichever it is, and it is named", async (t) => {
      for (const index of [0, 1, 2]) {
        const store = await fresh(t, makeStore);
        const owners = await claimThree(store);
        await lose(store, owners[index]!);
        await assertFenced(Owner.commitTogether(owners, { history }, { lastKey: 9, released: true }), [index + 1]);
        assert.deepEqual(await written(store), []);
        for (const owner of owners.toSpliced(index, 1)) {
          const claim = await store.claimShard(owner.shard, "b");
          assert.deepEqual([claim?.lastBatch, claim?.lastKey, claim?.released], [0, 0, false]);
        }
      }
    });

    test("all that are lost are named", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      await lose(store, one, three);
      await assertFenced(Owner.commitTogether([one, two, three], {}), [1, 3]);
      await assertFenced(store.commit(batchOf([two.fence({ shard: 9 }), two.fence(), three.fence()], {})), [3, 9]);
      await lose(store, two);
      await assertFenced(Owner.commitTogether([one, two, three], {}), [1, 2, 3]);
    });

    test("a wrong number counts as lost", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      await assertFenced(store.commit(batchOf([one.fence({ number: 2 }), two.fence(), three.fence()], {})), [1]);
      await Owner.commitTogether([one, two, three], {});
    });

    test("without them it lands", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      await lose(store, two);
      await assertFenced(Owner.commitTogether([one, two, three], { history }), [2]);
      await Owner.commitTogether([one, three], { history: [history[0]!, history[2]!] });
      assert.deepEqual(await written(store), [1, 3]);
    });

    test("an old and a new owner at once do not stand in each other's way, whatever order they name the shards in", async (t) => {
      const [before, now = before] = await freshUsers(t, makeStore, 2);
      const old = await claimThree(before);
      const owners = await claimThree(now);
      for (let turn = 0; turn < 10; turn++) {
        const rows = [historyRow({ instance: 1, turn })];
        const [one, two, three] = turn % 2 === 0 ? owners : owners.toReversed();
        const refused = assertFenced(Owner.commitTogether(old, { history: rows }), [1, 2, 3]);
        await Promise.all([refused, Owner.commitTogether([one!, two!, three!], { history: rows })]);
      }
      assert.equal((await now.loadHistory([1])).length, 10);
    });
  });
}

function repeatSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: one batch of several shards, sent again`, () => {
    test("if it had landed, it is answered with success and written once", async (t) => {
      const store = await fresh(t, makeStore);
      const owners = await claimThree(store);
      const batch = batchOf(
        owners.map((owner) => owner.fence()),
        { history },
      );
      await store.commit(batch);
      await store.commit(batch);
      await store.commit({ ...batch, fences: batch.fences.toReversed() });
      assert.deepEqual(await written(store), [1, 2, 3]);
    });

    test("if it had landed and a shard was lost since, that one is named, and the rest is still a success", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      const fences = [one.fence(), two.fence(), three.fence()];
      await store.commit(batchOf(fences, { history }));
      await lose(store, two);
      await assertFenced(store.commit(batchOf(fences, { history })), [2]);
      await store.commit(batchOf([one.fence(), three.fence()], { history: [history[0]!, history[2]!] }));
      assert.deepEqual(await written(store), [1, 2, 3]);
      const claims = await Promise.all([1, 2, 3].map((shard) => store.claimShard(shard, "b")));
      assert.deepEqual(
        claims.map((claim) => claim?.lastBatch),
        [1, 1, 1],
      );
    });

    test("if it had landed, a released shard stays released", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two] = await claimThree(store);
      const batch = batchOf([one.fence({ released: true }), two.fence({ released: true })], {});
      await store.commit(batch);
      await store.commit(batch);
      assert.equal((await store.claimShard(1, "b"))?.released, true);
    });

    test("one that landed for some of its shards only is a bug, and nothing of it is written", async (t) => {
      const store = await fresh(t, makeStore);
      const [one, two, three] = await claimThree(store);
      const fences = [one.fence(), two.fence(), three.fence()];
      await two.commit({});
      await assertBug(store.commit(batchOf(fences, { history })));
      await assertBug(store.commit(batchOf([fences[1]!, fences[0]!], { history })));
      await assertBug(store.commit(batchOf([fences[0]!, fences[1]!], { history })));
      assert.deepEqual(await written(store), []);
      await Owner.commitTogether([one, two, three], { history });
    });
  });
}
