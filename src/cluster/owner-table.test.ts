import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ShardRow } from "../stores/store.ts";
import { OwnerTable } from "./owner-table.ts";

function tableOf(...rows: readonly ShardRow[]): OwnerTable {
  const table = new OwnerTable();
  table.follow({ incarnation: 0, members: [], shards: rows });
  return table;
}

function row(shard: number, epoch: number, owner: string, released = false): ShardRow {
  return { shard, epoch, owner, lastBatch: 0, released };
}

describe("the owner of a shard", () => {
  test("is nobody before it was ever claimed", () => {
    const table = tableOf();
    assert.deepEqual([table.ownerOf(3), table.epochOf(3)], [undefined, 0]);
  });

  test("is the one that the view shows, unless it has given the shard up", () => {
    const table = tableOf(row(0, 1, "a"), row(1, 4, "b", true));
    assert.deepEqual([table.ownerOf(0), table.epochOf(0)], ["a", 1]);
    assert.deepEqual([table.ownerOf(1), table.epochOf(1)], [undefined, 4]);
  });

  test("is known sooner from the one that has opened it", () => {
    const table = tableOf(row(0, 1, "a", true));
    table.onOpened({ shard: 0, epoch: 2, owner: "b" });
    table.onOpened({ shard: 7, epoch: 1, owner: "b" });
    assert.deepEqual([table.ownerOf(0), table.epochOf(0), table.ownerOf(7)], ["b", 2, "b"]);
  });

  test("is not taken back by a view from before, nor by word that is late", () => {
    const table = tableOf(row(0, 1, "a"));
    table.onOpened({ shard: 0, epoch: 3, owner: "c" });
    table.follow({ incarnation: 0, members: [], shards: [row(0, 2, "b")] });
    table.onOpened({ shard: 0, epoch: 2, owner: "b" });
    assert.deepEqual([table.ownerOf(0), table.epochOf(0)], ["c", 3]);
  });

  test("has released it when a view of the same epoch says so; late word of its opening changes nothing", () => {
    const table = tableOf(row(0, 2, "a"));
    table.follow({ incarnation: 0, members: [], shards: [row(0, 2, "a", true)] });
    table.onOpened({ shard: 0, epoch: 2, owner: "a" });
    assert.equal(table.ownerOf(0), undefined);
  });
});

test("a member's shards are counted, without those that it has released", () => {
  const table = tableOf(row(0, 1, "a"), row(1, 1, "b"), row(2, 5, "a"), row(3, 2, "a", true));
  assert.deepEqual([table.countOf("a"), table.countOf("b"), table.countOf("c")], [2, 1, 0]);
  table.onOpened({ shard: 2, epoch: 6, owner: "c" });
  assert.deepEqual([table.countOf("a"), table.countOf("c")], [1, 1]);
});
