/** The edits of a definition, undo, and what is wrong with a draft. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  addNode,
  changeEdge,
  changeKind,
  changeNode,
  changeSettings,
  connect,
  type Draft,
  emptyDraft,
  removeNode,
} from "../../console/src/editor/draft.ts";
import { beginHistory, edit, redo, undo } from "../../console/src/editor/draft-history.ts";
import { kernelProblems, serverProblems } from "../../console/src/editor/draft-problems.ts";
import { readSpec } from "../../console/src/editor/read-spec.ts";

const chain: Draft = {
  nodes: [
    { nodeId: 1, nodeName: "a", jobName: "say" },
    { nodeId: 2, nodeName: "b", jobName: "say" },
    { nodeId: 3, nodeName: "c", jobName: "say" },
  ],
  edges: [
    { from: 1, to: 2 },
    { from: 2, to: 3 },
  ],
};

const arrows = ({ edges = [] }: Draft): string[] =>
  edges.map(({ from, to, property }) => `${from}>${to}${property === undefined ? "" : `=${property}`}`);

describe("the edits of a definition", () => {
  test("12.4 a node is added with a free number and name, after the selected one", () => {
    const first = addNode(emptyDraft, "job");
    assert.deepEqual([first.id, first.draft.nodes], ["1", [{ nodeId: 1, nodeName: "task-1", nodeType: 1 }]]);
    const second = addNode(first.draft, "decision", 1);
    assert.deepEqual(arrows(second.draft), ["1>2"]);
    const third = addNode(second.draft, "job", 2);
    const fourth = addNode(third.draft, "nested", 2);
    assert.deepEqual(arrows(fourth.draft), ["1>2", "2>3=true", "2>4=false"]);
    assert.equal(fourth.draft.nodes[2]?.nodeName, "task-2");
  });

  test("12.4 a removed node leaves what came before it connected with what came after", () => {
    assert.deepEqual(arrows(removeNode(chain, 2)), ["1>3"]);
    assert.deepEqual(arrows(removeNode(connect(chain, 1, 3), 2)), ["1>3"]);
    assert.deepEqual(arrows(removeNode(chain, 3)), ["1>2"]);
  });

  test("12.4 edges are added once, changed and removed", () => {
    assert.equal(connect(chain, 1, 2), chain);
    assert.equal(connect(chain, 1, 1), chain);
    const labelled = changeEdge(chain, 0, { property: "x" });
    assert.deepEqual(arrows(labelled), ["1>2=x", "2>3"]);
    assert.deepEqual(arrows(changeEdge(labelled, 0, null)), ["2>3"]);
  });

  test("12.4 fields are set and removed, and those that nobody knows are kept", () => {
    const own = { ...chain, nodes: [{ nodeId: 1, nodeName: "a", x: 10 }], colour: "red" } as unknown as Draft;
    const changed = changeSettings(changeNode(own, 1, { jobName: "say", nodeName: undefined }), { domain: "etl" });
    assert.deepEqual(changed.nodes, [{ nodeId: 1, x: 10, jobName: "say" }]);
    assert.deepEqual([changed.domain, (changed as unknown as { colour: string }).colour], ["etl", "red"]);
    assert.deepEqual(changeKind(changed, 1, "decision").nodes, [{ nodeId: 1, x: 10, nodeType: 2, nodeParams: "true" }]);
  });

  test("12.4 undo and redo go step by step; letters of one field are one step", () => {
    let history = beginHistory(chain);
    for (const name of ["x", "xy", "xyz"]) {
      history = edit(history, changeNode(history.present, 1, { nodeName: name }), "node:1:nodeName");
    }
    history = edit(history, removeNode(history.present, 3));
    assert.equal(history.past.length, 2);
    history = undo(history);
    assert.equal(history.present.nodes[0]?.nodeName, "xyz");
    history = undo(history);
    assert.equal(history.present, chain);
    assert.equal(undo(history).present, chain);
    history = redo(redo(history));
    assert.equal(history.present.nodes.length, 2);
    assert.equal(redo(history).present, history.present);
  });
});

describe("the problems of a draft", () => {
  test("12.4 come from the kernel, each at its node, and then of the whole", () => {
    assert.deepEqual(kernelProblems(chain), []);
    const wrong = changeNode(changeNode(chain, 1, { retryCount: -1 }), 3, { nodeType: 3, jobName: undefined });
    assert.deepEqual(kernelProblems(wrong), [
      { nodeId: "1", text: 'task "a": retryCount must be a whole number, at least 0, got -1', isWarning: false },
      { nodeId: "3", text: 'task "c": a nested workflow needs a workflowName or a jobId', isWarning: false },
    ]);
    assert.deepEqual(kernelProblems(connect(chain, 3, 1)), [
      { nodeId: undefined, text: "tasks wait for each other in a circle: a → b → c → a", isWarning: false },
    ]);
    assert.deepEqual(
      kernelProblems(emptyDraft).map(({ text }) => text),
      ["the workflow has no tasks"],
    );
  });

  test("12.4 of the server find their nodes by the names of tasks", () => {
    const message = 'task "b" of workflow "w": no job "gone" is registered';
    assert.deepEqual(serverProblems(chain, [{ message, task: "b", mayStillCome: true }]), [
      { nodeId: "2", text: 'no job "gone" is registered', isWarning: true },
    ]);
  });

  test("12.4 a file that is no dag-spec is refused, and other spellings are read", () => {
    assert.ok("notJson" in readSpec("{"));
    for (const text of ["[]", "{}", '{"nodes":[1]}', '{"nodes":[],"edges":[{"from":1}]}', '{"nodes":[{}]}']) {
      assert.deepEqual(readSpec(text), { problem: "notSpec" });
    }
    const read = readSpec('{"nodes":[{"nodeId":"x","nodeType":"DECISION","nodeParams":{"a":1}}],"own":true}');
    assert.deepEqual(read, { draft: { nodes: [{ nodeId: "x", nodeType: 2, nodeParams: '{"a":1}' }], own: true } });
  });
});
