import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hint } from "../runtime/call.ts";
import { TestClock } from "../testing/test-clock.ts";
import { ShardAnnouncer } from "./shard-announcer.ts";

test("shards that are opened one after the other are announced together, but for those that are closed again", async () => {
  const clock = new TestClock();
  const hints: Hint[] = [];
  const epochs = new Map([[1, 7]]);
  const announcer = new ShardAnnouncer({
    clock,
    member: () => "a",
    epochOf: (shard) => epochs.get(shard),
    hintOthers: (hint) => hints.push(hint),
  });
  for (const shard of [1, 2, 3]) {
    epochs.set(shard, shard + 6);
    announcer.onOpened(shard);
  }
  epochs.delete(1);
  await clock.advance(100);
  assert.deepEqual(hints, [{ type: "ShardOpened", owner: "a", shard: 2, epoch: 8, more: [{ shard: 3, epoch: 9 }] }]);
  epochs.clear();
  announcer.onOpened(4);
  await clock.advance(100);
  assert.equal(hints.length, 1);
});
