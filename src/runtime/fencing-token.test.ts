import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { firstKey, lastKeyOf, shardOfKey } from "../stores/instance-key.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { noChanges, type ShardClaim } from "../stores/store.ts";
import { FencingToken } from "./fencing-token.ts";

const claim: ShardClaim = { epoch: 4, incarnation: 0, lastBatch: 17, lastKey: 0, released: true, previousOwner: "" };

describe("a token", () => {
  test("signs with its claim's epoch and the number after the last that landed", () => {
    const token = new FencingToken(3, claim);
    assert.deepEqual(token.fence(false), { shard: 3, epoch: 4, number: 18, lastKey: firstKey(3) - 1, released: false });
    assert.deepEqual(token.fence(false), token.fence(false), "to sign is not yet to land");
    token.batch++;
    assert.equal(token.fence(false).number, 19);
    assert.equal(token.fence(true).released, true);
  });

  test("gives out keys of its shard, beginning with the first", () => {
    const token = new FencingToken(3, claim);
    const keys = [token.newKey(), token.newKey(), token.newKey()];
    assert.deepEqual(keys, [firstKey(3), firstKey(3) + 1, firstKey(3) + 2]);
    for (const key of keys) assert.equal(shardOfKey(key), 3);
    assert.equal(token.fence(false).lastKey, keys[2], "the next owner begins after them");
  });

  test("begins with the first key in the first and in the last of all shards", () => {
    for (const shard of [0, 8191]) {
      const token = new FencingToken(shard, claim);
      assert.equal(token.newKey(), firstKey(shard));
      assert.ok(token.newKey() <= lastKeyOf(shard));
    }
  });

  test("goes on after the last key that an earlier owner gave out", async () => {
    const store = new MemoryStore();
    await store.open();
    const first = new FencingToken(3, await claimed(store, "one"));
    first.newKey();
    const last = first.newKey();
    await store.commit({ fences: [first.fence(false)], changes: noChanges() });
    const next = new FencingToken(3, await claimed(store, "two"));
    assert.ok(next.epoch > first.epoch);
    assert.equal(next.newKey(), last + 1);
    assert.equal(next.fence(false).number, 2);
  });
});

async function claimed(store: MemoryStore, owner: string): Promise<ShardClaim> {
  const given = await store.claimShard(3, owner);
  assert.ok(given);
  return given;
}
