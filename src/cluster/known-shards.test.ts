import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClusterView, ShardRow } from "../stores/store.ts";
import { KnownShards } from "./known-shards.ts";

const row = (shard: number, owner: string, epoch = 1000): ShardRow => {
  return { shard, epoch, owner, lastBatch: 0, released: false };
};

/** Asks for a view at that second of both clocks, unless the store's says something else, and returns what was asked for. */
function ask(known: KnownShards, at: number, shards: readonly ShardRow[], seconds = 5000 + at): [number, ClusterView] {
  const since = known.since(at * 1000);
  return [since, known.merge({ incarnation: 0, members: [], shards, seconds }, { since, askedAt: at * 1000 })];
}

describe("known shards", () => {
  test("are read once, and then as far as they may have changed", () => {
    const known = new KnownShards();
    assert.equal(ask(known, 0, [row(0, "a"), row(2, "b")])[0], 0);
    const [since, view] = ask(known, 2, [row(1, "c", 5001), row(2, "a", 5002)]);
    assert.equal(since, 5000 - 10);
    assert.deepEqual(
      view.shards.map(({ shard, owner }) => `${shard}${owner}`),
      ["0a", "1c", "2a"],
    );
  });

  test("are read further back every 20 s: a claim that took a minute is seen all the same", () => {
    const known = new KnownShards();
    const slackAt = (at: number): number => 5000 + at - 2 - ask(known, at, [])[0];
    ask(known, 0, []);
    const slacks = Array.from({ length: 25 }, (_, view) => slackAt(2 * (view + 1)));
    const slow = slacks.flatMap((slack, view) => (slack === 10 ? [] : [[2 * (view + 1), slack]]));
    assert.deepEqual(slow, [
      [20, 80],
      [40, 80],
    ]);
  });

  test("are read again from time to time, and then those that are gone are forgotten", () => {
    const known = new KnownShards();
    ask(known, 0, [row(0, "a"), row(2, "b")]);
    assert.notEqual(ask(known, 599, [])[0], 0);
    const [since, view] = ask(known, 600, [row(0, "a")]);
    assert.deepEqual([since, view.shards.length], [0, 1]);
    assert.notEqual(ask(known, 601, [])[0], 0);
  });

  test("are all read again after the store's clock was set back, or if it has none", () => {
    const known = new KnownShards();
    ask(known, 0, []);
    ask(known, 100, [], 5090);
    assert.notEqual(ask(known, 101, [], 5091)[0], 0);
    ask(known, 102, [], 5000);
    assert.equal(ask(known, 103, [], 5001)[0], 0);
    assert.notEqual(ask(known, 104, [], 5002)[0], 0);
    const without = new KnownShards();
    for (const at of [0, 1]) {
      const since = without.since(at);
      assert.equal(since, 0);
      without.merge({ incarnation: 0, members: [], shards: [] }, { since, askedAt: at });
    }
  });
});
