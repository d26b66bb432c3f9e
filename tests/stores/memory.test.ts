import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { historyRow } from "../contract/store/rows.ts";
import { Owner } from "../contract/store/subject.ts";

test("a commit lands when its delay is over, not before", async () => {
  const delays: (() => void)[] = [];
  const store = new MemoryStore({ delay: () => new Promise((resolve) => delays.push(resolve)) });
  await store.open();
  const owner = await Owner.claim(store);
  const sent = owner.commit({ history: [historyRow({ instance: 1, turn: 0 })] });
  assert.deepEqual(await store.loadHistory([1]), []);
  delays.shift()?.();
  await sent;
  assert.equal((await store.loadHistory([1])).length, 1);
  await store.close();
});

test("closing waits for what was sent", async () => {
  const store = new MemoryStore();
  await store.open();
  const owner = await Owner.claim(store);
  const sent = owner.commit({ history: [historyRow({ instance: 1, turn: 0 })] });
  await store.close();
  await sent;
  await store.open();
  assert.equal((await store.loadHistory([1])).length, 1);
});

test("a delay that fails is the commit's failure, and the next commit is not hurt", async () => {
  let fails = true;
  const delay = async () => {
    if (fails) throw new Error("the disk is away");
  };
  const store = new MemoryStore({ delay });
  await store.open();
  const owner = await Owner.claim(store);
  await assert.rejects(owner.commit({}), /the disk is away/);
  fails = false;
  await owner.commit({});
  assert.equal((await store.claimShard(0, "b"))?.lastBatch, 1);
});

describe("another connection to the same memory", () => {
  test("has what the first one wrote, and is heard by it", async () => {
    const store = new MemoryStore();
    const other = store.connect();
    assert.deepEqual([store.clusters, other.clusters], ["possible", "possible"]);
    await store.open();
    await other.open();
    await (await Owner.claim(store, 0)).commit({ history: [historyRow({ instance: 1, turn: 0 })] });
    await (await Owner.claim(other, 1)).commit({ history: [historyRow({ instance: 2, turn: 0 })] });
    assert.equal((await other.loadHistory([1, 2])).length, 2);
    const third = other.connect();
    await third.open();
    assert.equal((await third.loadHistory([1, 2])).length, 2);
  });

  test("is opened and closed for itself, and not opened twice", async () => {
    const store = new MemoryStore();
    await store.open();
    const other = store.connect();
    await assert.rejects(other.loadHistory([1]), (error) => hasCode(error, "ENGINE_STATE"));
    await other.open();
    await assert.rejects(other.open(), (error) => hasCode(error, "STORE_LOCKED"));
    await store.close();
    await assert.rejects(store.loadHistory([1]), (error) => hasCode(error, "ENGINE_STATE"));
    assert.deepEqual(await other.loadHistory([1]), []);
    await store.open();
  });

  test("has the same delay, and does not wait for the other's commits", async () => {
    const delays: (() => void)[] = [];
    const store = new MemoryStore({ delay: () => new Promise((resolve) => delays.push(resolve)) });
    const other = store.connect();
    await store.open();
    await other.open();
    const slow = (await Owner.claim(store, 0)).commit({});
    const quick = (await Owner.claim(other, 1)).commit({});
    // Both commits wait for their own delay before the first of them is over.
    await store.loadHistory([1]);
    assert.equal(delays.length, 2);
    delays[1]?.();
    await quick;
    await other.close();
    delays[0]?.();
    await slow;
  });
});
