import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mailboxesOf } from "../../../src/stores/mailbox.ts";
import type { ClusterView, Store } from "../../../src/stores/store.ts";
import { fresh, freshDurable, freshUsers, Owner, withoutEpochs } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

/** Asked by one who is no member, and so moves nobody on. */
async function view(store: Store): Promise<ClusterView> {
  return await store.heartbeat("nobody");
}

async function living(store: Store): Promise<string[]> {
  return (await view(store)).members.map((member) => member.id);
}

/** They join in the order given, each under an address made of its id. */
async function joinAll(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) await store.join({ id, address: `tcp://${id}` });
}

export function membersSuite(name: string, makeStore: MakeStore): void {
  joiningSuite(name, makeStore);
  viewSuite(name, makeStore);
  removalSuite(name, makeStore);
}

function joiningSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: members that live`, () => {
    test("one that joins is there, with a heartbeat of 0", async (t) => {
      const store = await fresh(t, makeStore);
      assert.deepEqual(await view(store), { incarnation: 0, members: [], shards: [] });
      await joinAll(store, ["a"]);
      assert.deepEqual((await view(store)).members, [{ id: "a", address: "tcp://a", about: "", heartbeat: 0 }]);
    });

    test("a heartbeat moves on the one member, and tells of all", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a", "b"]);
      await store.heartbeat("b");
      assert.deepEqual((await store.heartbeat("b")).members, [
        { id: "a", address: "tcp://a", about: "", heartbeat: 0 },
        { id: "b", address: "tcp://b", about: "", heartbeat: 2 },
      ]);
    });

    test("a heartbeat carries what the member says about itself, and one without leaves that as it is", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a", "b"]);
      const about = JSON.stringify({ roles: ["server"], note: "ä'\\ ☃" });
      await store.heartbeat("a", about);
      await store.heartbeat("a");
      assert.deepEqual(
        (await store.heartbeat("b", "x".repeat(1000))).members.map((member) => member.about),
        [about, "x".repeat(1000)],
      );
    });

    test("a lease is renewed without a view, if the store has at least the heartbeat that its holder knows", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a"]);
      await store.heartbeat("a", "about a");
      assert.equal(await store.renewLease("a", 1), true);
      assert.equal(await store.renewLease("a", 1), true);
      assert.equal(await store.renewLease("a", 4), false);
      assert.equal(await store.renewLease("b", 0), false);
      assert.deepEqual((await view(store)).members, [{ id: "a", address: "tcp://a", about: "about a", heartbeat: 3 }]);
    });

    test("joining twice changes nothing", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a"]);
      await store.heartbeat("a");
      await store.join({ id: "a", address: "tcp://elsewhere" });
      assert.deepEqual((await view(store)).members, [{ id: "a", address: "tcp://a", about: "", heartbeat: 1 }]);
    });

    test("beats of many at once are all counted", async (t) => {
      const users = await freshUsers(t, makeStore, 4);
      await joinAll(users[0], ["a", "b"]);
      await Promise.all(users.flatMap((user) => ["a", "b", "a"].map((id) => user.heartbeat(id))));
      assert.deepEqual(
        (await view(users[0])).members.map(({ heartbeat }) => heartbeat),
        [8, 4],
      );
    });

    test("they outlive the closing", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      await joinAll(subject.store, ["a"]);
      await subject.store.heartbeat("a");
      assert.deepEqual((await view(await subject.reopen())).members, [
        { id: "a", address: "tcp://a", about: "", heartbeat: 1 },
      ]);
    });
  });
}

function viewSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: the view of the cluster`, () => {
    test("members come by id, shards that were ever claimed by number", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["c", "a", "b-10", "b-9", "B"]);
      for (const shard of [10, 2, 7]) await store.claimShard(shard, "c");
      await store.claimShard(2, "c");
      assert.deepEqual(await living(store), ["B", "a", "b-10", "b-9", "c"]);
      assert.deepEqual((await view(store)).shards.map(withoutEpochs), [
        { shard: 2, owner: "c", lastBatch: 0, released: false },
        { shard: 7, owner: "c", lastBatch: 0, released: false },
        { shard: 10, owner: "c", lastBatch: 0, released: false },
      ]);
    });

    test("a shard is released by its owner's last word, until the next commit or claim", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store, 3, "a");
      const released = async () => (await view(store)).shards.map((shard) => shard.released);
      assert.deepEqual(await released(), [false]);
      await owner.commit({}, { released: true });
      assert.deepEqual(await released(), [true]);
      await owner.commit({});
      assert.deepEqual(await released(), [false]);
      await owner.commit({}, { released: true });
      await store.claimShard(3, "b");
      assert.deepEqual(await released(), [false]);
    });

    test("everybody has the same", async (t) => {
      const [one, two = one] = await freshUsers(t, makeStore, 2);
      await joinAll(one, ["a"]);
      await joinAll(two, ["b"]);
      const epoch = (await two.claimShard(0, "b"))?.epoch;
      assert.deepEqual(await one.heartbeat("a"), {
        incarnation: 0,
        members: [
          { id: "a", address: "tcp://a", about: "", heartbeat: 1 },
          { id: "b", address: "tcp://b", about: "", heartbeat: 0 },
        ],
        shards: [{ shard: 0, epoch, owner: "b", lastBatch: 0, released: false }],
      });
    });

    test("a view once given does not move", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a"]);
      const before = await store.heartbeat("a");
      await store.heartbeat("a");
      await joinAll(store, ["b"]);
      assert.deepEqual(before.members, [{ id: "a", address: "tcp://a", about: "", heartbeat: 1 }]);
    });
  });
}

function removalSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: members that are removed`, () => {
    test("one that leaves is gone, and leaves once", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a", "b"]);
      assert.equal(await store.removeMember("a"), true);
      assert.equal(await store.removeMember("a"), false);
      assert.equal(await store.removeMember("unknown"), false);
      assert.deepEqual(await living(store), ["b"]);
    });

    test("one that was taken for dead does not find itself, and beats in vain", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a", "b"]);
      await store.removeMember("a", 0);
      assert.deepEqual((await store.heartbeat("a")).members, [
        { id: "b", address: "tcp://b", about: "", heartbeat: 0 },
      ]);
      assert.deepEqual(await living(store), ["b"]);
    });

    test("one whose heartbeat has moved on stays", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a"]);
      await store.heartbeat("a");
      assert.equal(await store.removeMember("a", 0), false);
      assert.equal(await store.removeMember("a", 2), false);
      assert.deepEqual(await living(store), ["a"]);
      assert.equal(await store.removeMember("a", 1), true);
      assert.equal(await store.removeMember("a", 1), false);
    });

    test("of many who remove the same one, one does it", async (t) => {
      const users = await freshUsers(t, makeStore, 4);
      await joinAll(users[0], ["a"]);
      const removed = await Promise.all(users.map((user) => user.removeMember("a", 0)));
      assert.equal(removed.filter(Boolean).length, 1);
    });

    test("a heartbeat and a removal at once: one of them wins", async (t) => {
      const [one, two = one] = await freshUsers(t, makeStore, 2);
      for (const id of ["a", "b", "c", "d"]) {
        await joinAll(one, [id]);
        const [seen, removed] = await Promise.all([one.heartbeat(id), two.removeMember(id, 0)]);
        const found = seen.members.some((member) => member.id === id);
        assert.equal(found, !removed);
        assert.equal((await living(one)).includes(id), !removed);
      }
    });

    test("the mailboxes go with their member, and no others", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a", "ab"]);
      const mailboxes = [...mailboxesOf("a"), ...mailboxesOf("ab"), "a", "everybody"];
      for (const mailbox of mailboxes) await store.post({ mailbox, body: mailbox, at: 0 });
      assert.equal(await store.removeMember("a", 7), false);
      assert.equal((await store.listMailboxRows(mailboxes, 10)).length, 6);
      await store.removeMember("a", 0);
      assert.deepEqual(
        (await store.listMailboxRows(mailboxes, 10)).map((mail) => mail.body),
        mailboxes.slice(2),
      );
    });

    test("its shards are still its own until somebody claims them", async (t) => {
      const store = await fresh(t, makeStore);
      await joinAll(store, ["a"]);
      const owner = await Owner.claim(store, 0, "a");
      await store.removeMember("a");
      await owner.commit({});
      const { epoch } = owner;
      assert.deepEqual((await view(store)).shards, [{ shard: 0, epoch, owner: "a", lastBatch: 1, released: false }]);
    });
  });
}
