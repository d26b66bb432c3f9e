import assert from "node:assert/strict";
import { test } from "node:test";
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
  assert.equal((await store.claimShard(0, "b")).batch, 1);
});
