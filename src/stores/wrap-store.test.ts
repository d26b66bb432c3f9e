import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "./memory/memory-store.ts";
import { overrideStore } from "./wrap-store.ts";

test("an overridden store calls the methods of the given one, except the overridden ones", async () => {
  const bare = new MemoryStore();
  let closed = 0;
  const close = async (): Promise<void> => void closed++;
  // Twice, as the server does it: an overridden store has no prototype to inherit from.
  const store = overrideStore(overrideStore(bare, { close }), {});
  await store.open();
  assert.equal(await store.settleShardCount(4), 4);
  assert.equal(await bare.settleShardCount(8), 4);
  await store.close();
  assert.equal(closed, 1);
  assert.equal(await bare.settleShardCount(8), 4);
  assert.deepEqual([store.clusters, store.lanes], [bare.clusters, bare.lanes]);
});

test("an optional method is there if the given store has it", async () => {
  assert.equal(overrideStore(new MemoryStore(), {}).verify, undefined);
  let verified = 0;
  const file = Object.assign(new MemoryStore(), { verify: async () => void verified++ });
  await overrideStore(file, {}).verify?.();
  assert.equal(verified, 1);
});
