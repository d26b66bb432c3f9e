import assert from "node:assert/strict";
import { test } from "node:test";
import { DagEdges } from "./dag-edges.ts";

test("successors are found, each once, also over edges that came later", () => {
  const edges = new DagEdges([
    { from: 1, to: 2 },
    { from: 1, to: 2 },
    { from: 1, to: 3, enable: false },
    { from: 2, to: 3 },
  ]);
  assert.deepEqual(edges.successors(1), [2]);
  assert.deepEqual(edges.successors(3), []);
  edges.add({ from: 3, to: 4 });
  edges.add({ from: 1, to: 4 });
  assert.deepEqual(edges.successors(3), [4]);
  assert.deepEqual(edges.successors(1), [2, 4]);
  assert.equal(edges.all.length, 6);
  assert.equal(edges.enabled.length, 5);
});
