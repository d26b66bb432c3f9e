import assert from "node:assert/strict";
import { test } from "node:test";
import { firstKey, lastKeyOf, shardOfKey } from "../../src/stores/instance-key.ts";

test("the keys of a shard are one range, next to those of the shards beside it", () => {
  for (const shard of [0, 1, 127, 8191]) {
    assert.equal(shardOfKey(firstKey(shard)), shard);
    assert.equal(shardOfKey(lastKeyOf(shard)), shard);
    assert.equal(shardOfKey(lastKeyOf(shard) + 1), shard + 1);
  }
  assert.equal(firstKey(0), 1);
});

test("every key is exact", () => {
  assert.ok(Number.isSafeInteger(lastKeyOf(8191)));
});

test("there is no shard beyond the last, before the first or between two", () => {
  for (const shard of [8192, -1, 1.5, Number.NaN]) assert.throws(() => firstKey(shard), { name: "Bug" });
});
