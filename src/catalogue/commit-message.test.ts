import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { commitMessage } from "./commit-message.ts";

const at = Date.UTC(2026, 0, 5, 12, 0, 7, 999);
const spec: DagSpec = {
  nodes: [
    { nodeId: 1, nodeName: "read", jobName: "read" },
    { nodeId: 2, nodeName: "join", jobName: "join" },
  ],
  edges: [{ from: 1, to: 2 }],
};

function said(before: DagSpec | undefined, after: DagSpec | undefined, operation = "Update"): string {
  const text = (value: DagSpec | undefined): string | undefined => value && JSON.stringify(value);
  return commitMessage({ operation, by: "ann", at }, { before: text(before), after: text(after) });
}

describe("the message of a commit", () => {
  test("says what changed, by whom and when", () => {
    const built: DagSpec = {
      ...spec,
      timeoutSeconds: 60,
      nodes: [
        { nodeId: 2, nodeName: "join", jobName: "join", nodeParams: "{}" },
        { nodeId: 3, nodeName: "build_index", jobName: "b" },
      ],
      edges: [{ from: 2, to: 3 }],
    };
    assert.equal(
      said(spec, built),
      "Update DAG spec - add timeoutSeconds, remove node read, change node join (nodeParams), add node build_index, remove edge read -> join and 1 more by ann at 2026-01-05 12:00:07",
    );
  });

  test("of a new, a deleted, a restored and a merely rewritten file", () => {
    const end = "by ann at 2026-01-05 12:00:07";
    assert.equal(said(undefined, spec, "Create"), `Update DAG spec - create workflow with 2 nodes ${end}`);
    assert.equal(said(spec, undefined, "Delete"), `Update DAG spec - delete workflow ${end}`);
    assert.equal(
      said(spec, { ...spec, edges: [] }, "Roll back"),
      `Update DAG spec - roll back: remove edge read -> join ${end}`,
    );
    assert.equal(said(spec, { ...spec }), `Update DAG spec - change layout ${end}`);
  });

  test("falls back to the operation where the old file was no definition, and holds no line breaks", () => {
    const save = { operation: "Edit", by: "eve\n\nSigned-off-by: <root>", at };
    assert.equal(
      commitMessage(save, { before: "{", after: JSON.stringify(spec) }),
      "Update DAG spec - edit by eve Signed-off-by:  root at 2026-01-05 12:00:07",
    );
    const evil = { ...spec, nodes: [...spec.nodes, { nodeId: 9, nodeName: "a\nb".repeat(40), jobName: "j" }] };
    assert.match(said(spec, evil), /^Update DAG spec - add node [a b]{60}… by ann at /);
  });
});
