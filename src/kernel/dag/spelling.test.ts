import assert from "node:assert/strict";
import { test } from "node:test";
import { settleSpelling } from "./spelling.ts";

test("words for types become numbers, and parameters text", () => {
  const spec = {
    nodes: [
      { nodeId: 1, nodeType: "JOB", nodeParams: { a: 1 } },
      { nodeId: 2, nodeType: "CONTROL", nodeParams: "true" },
      { nodeId: 3, nodeType: "NESTED_WORKFLOW", nodeParams: null },
      null,
    ],
  };
  settleSpelling(spec);
  assert.deepEqual(spec.nodes, [
    { nodeId: 1, nodeType: 1, nodeParams: '{"a":1}' },
    { nodeId: 2, nodeType: 2, nodeParams: "true" },
    { nodeId: 3, nodeType: 3, nodeParams: null },
    null,
  ]);
  const other = { nodes: "none" };
  settleSpelling(other);
  assert.deepEqual(other, { nodes: "none" });
});
