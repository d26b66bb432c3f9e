import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import type { Store } from "../../../src/stores/store.ts";
import { fresh, freshUsers, Owner, withoutEpochs } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { historyRow } from "./rows.ts";

const isFenced = (error: unknown) => hasCode(error, "STORE_FENCED");

/** Shard 0 is owned by `a`; `a` and `b` are living members. */
async function owned(t: TestContext, makeStore: MakeStore): Promise<{ store: Store; owner: Owner }> {
  const store = await fresh(t, makeStore);
  await store.join({ id: "a", address: "" });
  await store.join({ id: "b", address: "" });
  return { store, owner: await Owner.claim(store, 0, "a") };
}

export function leasesSuite(name: string, makeStore: MakeStore): void {
  holdingSuite(name, makeStore);
  takeoverSuite(name, makeStore);
  raceSuite(name, makeStore);
}

function holdingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: a living owner`, () => {
    test("keeps its shard, and a refused claim changes nothing", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      assert.equal(await store.claimShard(0, "b"), undefined);
      assert.equal(await store.claimShard(0, "never joined"), undefined);
      const { shards } = await store.heartbeat("a");
      assert.deepEqual(shards, [{ shard: 0, epoch: owner.epoch, owner: "a", lastBatch: 0, released: false }]);
      await owner.commit({ history: [historyRow({ instance: 1, turn: 0 })] });
    });

    test("of other shards, a view of changes has those that were claimed since or are released", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      const claimed = await store.claimShard(1, "b");
      const { seconds = NaN, shards, members } = await store.heartbeat("b", undefined, 0);
      assert.deepEqual([shards.map(({ shard }) => shard), members.length], [[0, 1], 2]);
      assert.ok(claimed !== undefined && claimed.epoch <= seconds && seconds >= owner.epoch);
      const changed = async (since: number): Promise<number[]> =>
        (await store.heartbeat("b", undefined, since)).shards.map(({ shard }) => shard);
      assert.deepEqual(await changed(owner.epoch), [0, 1]);
      assert.deepEqual(await changed(seconds + 1000), [1], "its own");
      await owner.commit({}, { released: true });
      assert.deepEqual(await changed(seconds + 1000), [0, 1]);
      const again = await store.claimShard(0, "a");
      assert.deepEqual(await changed(again?.epoch ?? NaN), [0, 1]);
      assert.deepEqual(await changed((again?.epoch ?? NaN) + 1), [1]);
    });

    test("keeps the one shard, not others", async (t) => {
      const { store } = await owned(t, makeStore);
      assert.notEqual(await store.claimShard(1, "b"), undefined);
      assert.equal(await store.claimShard(1, "a"), undefined);
    });

    test("may claim its shard again, and then its older claim is fenced", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      await owner.commit({}, { lastKey: 3 });
      assert.deepEqual(withoutEpochs(await store.claimShard(0, "a")), {
        incarnation: 0,
        lastBatch: 1,
        lastKey: 3,
        released: false,
        previousOwner: "a",
      });
      await assert.rejects(owner.commit({}), isFenced);
      assert.equal(await store.claimShard(0, "b"), undefined);
    });

    test("gives a shard up, and anybody may have it", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      await owner.commit({}, { released: true, lastKey: 3 });
      assert.deepEqual(withoutEpochs(await store.claimShard(0, "b")), {
        incarnation: 0,
        lastBatch: 1,
        lastKey: 3,
        released: true,
        previousOwner: "a",
      });
      await assert.rejects(owner.commit({}), isFenced);
      assert.equal(await store.claimShard(0, "a"), undefined, "it is the other's now, who has not released it");
    });

    test("may claim again what it gave up", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      await owner.commit({}, { released: true });
      assert.equal((await store.claimShard(0, "a"))?.released, true);
      assert.equal(await store.claimShard(0, "b"), undefined);
    });

    test("that writes again after giving up keeps its shard again", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      await owner.commit({}, { released: true });
      await owner.commit({});
      assert.equal(await store.claimShard(0, "b"), undefined);
    });

    test("has not given up by a last word that was refused", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      const again = await Owner.claim(store, 0, "a");
      await assert.rejects(owner.commit({}, { released: true }), isFenced);
      assert.equal(await store.claimShard(0, "b"), undefined);
      await again.commit({});
    });
  });
}

function takeoverSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: the shard of an owner that is gone`, () => {
    test("is taken over as it was left, and what the owner still sends is refused", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      await owner.commit({}, { lastKey: 7 });
      assert.equal(await store.removeMember("a", 0), true);
      assert.deepEqual(withoutEpochs(await store.claimShard(0, "b")), {
        incarnation: 0,
        lastBatch: 1,
        lastKey: 7,
        released: false,
        previousOwner: "a",
      });
      await assert.rejects(owner.commit({ history: [historyRow({ instance: 1, turn: 0 })] }), isFenced);
      await assert.rejects(owner.commit({}, { released: true }), isFenced);
      assert.deepEqual(await store.loadHistory([1]), []);
    });

    test("is not given back to it while the new owner lives", async (t) => {
      const { store } = await owned(t, makeStore);
      await store.removeMember("a");
      await store.claimShard(0, "b");
      assert.equal(await store.claimShard(0, "a"), undefined);
      await store.removeMember("b");
      assert.deepEqual((await store.claimShard(0, "a"))?.previousOwner, "b");
    });

    test("is still released if it was released before", async (t) => {
      const { store, owner } = await owned(t, makeStore);
      await owner.commit({}, { released: true });
      await store.removeMember("a");
      assert.equal((await store.claimShard(0, "b"))?.released, true);
    });

    test("is free also if that one never joined", async (t) => {
      const store = await fresh(t, makeStore);
      await store.join({ id: "b", address: "" });
      await store.claimShard(0, "a");
      assert.equal((await store.claimShard(0, "b"))?.previousOwner, "a");
    });

    test("is kept once that one joins", async (t) => {
      const store = await fresh(t, makeStore);
      await store.claimShard(0, "a");
      await store.join({ id: "a", address: "" });
      assert.equal(await store.claimShard(0, "b"), undefined);
    });
  });
}

function raceSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: claims at once`, () => {
    const ids = ["a", "b", "c", "d"];
    const shards = [0, 1, 2, 3, 4, 5, 6, 7];

    /** Everybody claims every shard, each beginning with another one; gives the winners of each shard. */
    async function claimAll(users: readonly Store[]): Promise<string[][]> {
      const won = new Map<number, string[]>(shards.map((shard) => [shard, []]));
      const claims = users.flatMap((user, i) =>
        shards.map(async (_, j) => {
          const shard = (i * 2 + j) % shards.length;
          const id = ids[i] ?? "";
          if (await user.claimShard(shard, id)) won.get(shard)?.push(id);
        }),
      );
      await Promise.all(claims);
      return [...won.values()];
    }

    test("each new shard goes to one member", async (t) => {
      const users = await freshUsers(t, makeStore, ids.length);
      for (const id of ids) await users[0].join({ id, address: "" });
      const winners = await claimAll(users);
      const { shards: claimed } = await users[0].heartbeat("nobody");
      assert.deepEqual(
        claimed.map(({ owner }) => [owner]),
        winners,
      );
    });

    test("each shard of a dead owner goes to one member", async (t) => {
      const users = await freshUsers(t, makeStore, ids.length);
      for (const id of [...ids, "dead"]) await users[0].join({ id, address: "" });
      for (const shard of shards) await users[0].claimShard(shard, "dead");
      assert.deepEqual((await claimAll(users)).flat(), []);
      await users[0].removeMember("dead");
      const winners = await claimAll(users);
      assert.deepEqual(
        winners.map((won) => won.length),
        shards.map(() => 1),
      );
    });

    test("a claim and a commit: the claim knows of the commit, or the commit is refused", async (t) => {
      const [one, two = one] = await freshUsers(t, makeStore, 2);
      for (const shard of shards) {
        const owner = await Owner.claim(one, shard, "a");
        const instance = shard + 1;
        const sent = owner.commit({ history: [historyRow({ instance, turn: 0 })] });
        const [commit, claim] = await Promise.allSettled([sent, two.claimShard(shard, "b")]);
        const hasLanded = commit.status === "fulfilled";
        assert.ok(hasLanded || isFenced(commit.reason));
        assert.equal(claim.status === "fulfilled" && claim.value?.lastBatch, hasLanded ? 1 : 0);
        assert.equal((await one.loadHistory([instance])).length, hasLanded ? 1 : 0);
      }
    });
  });
}
