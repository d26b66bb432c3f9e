import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { diffSpecs } from "./spec-diff.ts";

const spec: DagSpec = {
  nodes: [
    { nodeId: 1, nodeName: "a", jobName: "load" },
    { nodeId: 2, nodeName: "b", jobName: "save", retryPolicy: { initialMs: 5, factor: 2 } },
  ],
  edges: [{ from: 1, to: 2 }],
  timeoutSeconds: 60,
};

describe("the difference of two definitions", () => {
  test("none, wherever nodes and edges stand", () => {
    const turned = { ...spec, nodes: spec.nodes.toReversed() };
    assert.deepEqual(diffSpecs(spec, turned), []);
  });

  test("a node and an edge more", () => {
    const node = { nodeId: 3, nodeName: "c" };
    const edge = { from: 2, to: 3 };
    const grown = { ...spec, nodes: [node, ...spec.nodes], edges: [edge, ...(spec.edges ?? [])] };
    assert.deepEqual(diffSpecs(spec, grown), [
      { op: "added", path: "nodes/3", after: node },
      { op: "added", path: "edges/2->3", after: edge },
    ]);
    assert.deepEqual(diffSpecs(grown, spec), [
      { op: "removed", path: "nodes/3", before: node },
      { op: "removed", path: "edges/2->3", before: edge },
    ]);
  });

  test("fields of nodes, edges and settings, also inside objects", () => {
    const changed: DagSpec = {
      ...spec,
      nodes: [
        { nodeId: 1, nodeName: "a", jobName: "load", nodeParams: "1" },
        { ...spec.nodes[1], nodeId: 2, retryPolicy: { initialMs: 7, factor: 2 } },
      ],
      edges: [{ from: 1, to: 2, property: "yes" }],
      timeoutSeconds: 30,
    };
    assert.deepEqual(diffSpecs(spec, changed), [
      { op: "changed", path: "timeoutSeconds", before: 60, after: 30 },
      { op: "added", path: "nodes/1/nodeParams", after: "1" },
      { op: "changed", path: "nodes/2/retryPolicy/initialMs", before: 5, after: 7 },
      { op: "added", path: "edges/1->2/property", after: "yes" },
    ]);
  });

  test("ids with a slash in them, several edges between two nodes, names of the prototype", () => {
    const before: DagSpec = { nodes: [{ nodeId: "a/b" }, { nodeId: "__proto__" }], edges: [] };
    const ends = { from: "a/b", to: "__proto__" };
    const after = {
      ...before,
      edges: [
        { ...ends, property: "x" },
        { ...ends, property: "y" },
      ],
    };
    assert.deepEqual(
      diffSpecs(before, after).map(({ path }) => path),
      ["edges/a~1b->__proto__", "edges/a~1b->__proto__#2"],
    );
  });

  test("is empty for what is the same, and only for that", () => {
    const node = fc.record({ nodeName: fc.string(), nodeParams: fc.string() }, { requiredKeys: [] });
    const specs = fc.dictionary(fc.constantFrom("1", "2", "x", "__proto__"), node).map((nodes) => ({
      nodes: Object.entries(nodes).map(([nodeId, fields]) => ({ nodeId, ...fields })),
    }));
    fc.assert(
      fc.property(specs, specs, (one, other) => {
        assert.deepEqual(diffSpecs(one, one), []);
        const byId = (a: { nodeId: string }, b: { nodeId: string }): number => (a.nodeId < b.nodeId ? -1 : 1);
        const isSame =
          JSON.stringify(one.nodes.toSorted(byId).map(sorted)) ===
          JSON.stringify(other.nodes.toSorted(byId).map(sorted));
        assert.equal(diffSpecs(one, other).length === 0, isSame);
      }),
    );
  });
});

function sorted(node: object): [string, unknown][] {
  return Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1));
}
