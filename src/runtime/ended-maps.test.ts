import assert from "node:assert/strict";
import { test } from "node:test";
import { DagRig } from "../kernel/dag/dag.rig.ts";
import { EndedMaps } from "./ended-maps.ts";

const owner = {};

function mapOf(count: number) {
  const rig = DagRig.started("m", { nodes: { m: { jobName: "j", map: { items: "context.items" } } } });
  rig.tell({ type: "ItemsListed", task: 0, attempt: 1, pages: [{ count, items: "[]" }] });
  return { machine: rig.machine, key: count };
}

test("keeps the instances with large maps that were read last, for the owner of their shard", () => {
  const kept = new EndedMaps();
  kept.keep("small", mapOf(999), owner);
  assert.equal(kept.find("small", owner), undefined);
  for (const id of ["a", "b", "c", "d"]) kept.keep(id, mapOf(1000), owner);
  assert.equal(kept.find("a", {}), undefined, "the shard went to another owner and came back");
  assert.equal(kept.find("a", owner)?.key, 1000);
  kept.keep("e", mapOf(1001), owner);
  assert.deepEqual(
    ["a", "b", "c", "d", "e"].map((id) => kept.find(id, owner) !== undefined),
    [true, false, true, true, true],
  );
  kept.delete("a");
  assert.equal(kept.find("a", owner), undefined);
});

test("keeps two million items at most", () => {
  const kept = new EndedMaps();
  for (const id of ["a", "b", "c"]) kept.keep(id, mapOf(900_000), owner);
  assert.deepEqual(
    ["a", "b", "c"].map((id) => kept.find(id, owner) !== undefined),
    [false, true, true],
  );
});
