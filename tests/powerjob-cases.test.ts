/**
 * PowerJob's algorithms against cases that were checked with the original (tests/cases/dag-cases.json), each run as the
 * file says or as `deviations` says instead; then our own cases, from the description of the original.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { hasCode } from "../src/base/error.ts";
import {
  convert,
  decide,
  handleDisableEdges,
  listReadyNodes,
  listRoots,
  resetRetryableNode,
  valid,
} from "../src/dag.ts";
import type { DagSpec, EdgeSpec, NodeId, NodeSpec } from "../src/dag.ts";

interface Case {
  readonly name: string;
  readonly op: keyof typeof operations;
  readonly dag: DagSpec;
  readonly args?: Arguments;
  readonly expect: unknown;
  readonly quirk?: boolean;
}

interface Arguments {
  readonly decisions?: readonly { readonly nodeId: NodeId; readonly result: boolean }[];
  readonly disabledEdges?: readonly { readonly from: NodeId; readonly to: NodeId }[];
}

/** Each answers in the form of the file's `expect`. */
const operations = {
  valid,
  roots: (dag: DagSpec): unknown => ids(listRoots(dag)),
  listReadyNodes: readyAndSkipped,
  handleDisableEdges: disableEdges,
  resetRetryable: reset,
};

interface Deviation {
  readonly expect: unknown;
  readonly why: string;
}

/** Where we answer otherwise than the original. The other quirks of the file are kept. */
const deviations: Readonly<Record<string, Deviation>> = {
  "edges missing altogether": {
    expect: true,
    why: "a missing edge list is an empty one; the original fails inside and calls the graph invalid",
  },
  "duplicate edge out of a disabled node": {
    expect: { ready: [2], skipped: [1] },
    why: "a node is returned once; twice would run it twice",
  },
  "status 2 (waiting for the worker to accept) counts as ready": {
    expect: { ready: [], skipped: [] },
    why: "a node on its way to a worker is not started again",
  },
  "property with blanks is not trimmed": {
    expect: {
      nodes: [decided(1, "true"), untouched(2), canceled(3)],
      edges: [
        { from: 1, to: 2, enable: null },
        { from: 1, to: 3, enable: false },
      ],
    },
    why: "the original's own check at save time trims; untrimmed, both branches die",
  },
  "true and false edge to the same target": {
    expect: {
      nodes: [decided(1, "true"), untouched(2)],
      edges: [
        { from: 1, to: 2, enable: null },
        { from: 1, to: 2, enable: false },
      ],
    },
    why: "an edge that is on leads to the node; the original forgets all but the last of parallel edges",
  },
  "a finished target is overwritten": {
    expect: { nodes: [untouched(1), { ...untouched(2), status: 5 }], edges: [{ from: 1, to: 2, enable: false }] },
    why: "what has finished stays as it is",
  },
};

const keptQuirks = ["parent failed without skipWhenFailed", "a disabled edge is still a dependency"];

const file = join(import.meta.dirname, "cases/dag-cases.json");
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly Case[];

describe("PowerJob's cases", () => {
  for (const { name, op, dag, args, expect } of cases) {
    test(`${op}: ${name}`, () => {
      assert.deepEqual(operations[op](structuredClone(dag), args ?? {}), (deviations[name] ?? { expect }).expect);
    });
  }

  test("are all there, and every quirk is either kept or a deviation", () => {
    assert.equal(cases.length, 49);
    const quirks = cases.filter(({ quirk }) => quirk === true).map(({ name }) => name);
    assert.deepEqual(quirks.toSorted(), [...Object.keys(deviations), ...keptQuirks].toSorted());
  });
});

function disableEdges(dag: DagSpec, { decisions = [], disabledEdges }: Arguments): unknown {
  for (const { nodeId, result } of decisions) decide(dag, nodeId, result);
  if (disabledEdges !== undefined) switchOff(dag, disabledEdges);
  return disabledState(dag);
}

function reset(dag: DagSpec): unknown {
  resetRetryableNode(dag);
  const nodes = dag.nodes.map(({ nodeId, status, instanceId }) => ({ nodeId, status, instanceId: instanceId ?? null }));
  return { nodes };
}

function readyAndSkipped(dag: DagSpec): { ready: NodeId[]; skipped: NodeId[] } {
  const before = structuredClone(dag.nodes);
  const ready = ids(listReadyNodes(dag));
  const skipped = dag.nodes.filter(({ status }, place) => status !== before[place]!.status);
  for (const node of skipped) assert.deepEqual([node.status, node.result], [5, "disable node"]);
  return { ready, skipped: ids(skipped) };
}

function switchOff(dag: DagSpec, edges: readonly { readonly from: NodeId; readonly to: NodeId }[]): void {
  for (const edge of dag.edges!) {
    if (edges.some(({ from, to }) => from === edge.from && to === edge.to)) edge.enable = false;
  }
  handleDisableEdges(dag);
}

function disabledState(dag: DagSpec): unknown {
  return {
    nodes: dag.nodes.map((node) => ({
      nodeId: node.nodeId,
      status: node.status ?? null,
      enable: node.enable ?? null,
      disableByControlNode: node.disableByControlNode ?? null,
      result: node.result ?? null,
    })),
    edges: dag.edges!.map(({ from, to, enable }) => ({ from, to, enable: enable ?? null })),
  };
}

function untouched(nodeId: NodeId) {
  return { nodeId, status: null, enable: null, disableByControlNode: null, result: null };
}

function decided(nodeId: NodeId, result: string) {
  return { ...untouched(nodeId), status: 5, result };
}

function canceled(nodeId: NodeId) {
  return { ...untouched(nodeId), status: 9, enable: false, disableByControlNode: true };
}

function ids(nodes: readonly NodeSpec[]): NodeId[] {
  return nodes.map(({ nodeId }) => nodeId);
}

/** Nodes by id, each with fields of its own if need be; edges as `1>2`, with `:property` and a trailing `-` for off. */
function dag(nodes: readonly (NodeId | NodeSpec)[], ...edges: readonly string[]): DagSpec {
  return {
    nodes: nodes.map((node) => (typeof node === "object" ? { ...node } : { nodeId: node })),
    edges: edges.map(edge),
  };
}

function edge(written: string): EdgeSpec {
  const [, from, to, property, off] = /^(\d+)>(\d+)(?::(\w+))?(-?)$/.exec(written)!;
  return {
    from: Number(from),
    to: Number(to),
    ...(property !== undefined && { property }),
    ...(off === "-" && { enable: false }),
  };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

function chainEdges(count: number): EdgeSpec[] {
  return range(count - 1).map((i) => ({ from: i, to: i + 1 }));
}

/** Rungs of two nodes, each joined to both of the next: 2^rungs paths. */
function ladder(rungs: number): DagSpec {
  const edges = range(rungs - 1).flatMap((rung) => {
    const [a, b] = [2 * rung - 1, 2 * rung];
    return [edge(`${a}>${a + 2}`), edge(`${a}>${b + 2}`), edge(`${b}>${a + 2}`), edge(`${b}>${b + 2}`)];
  });
  return { nodes: range(2 * rungs).map((nodeId) => ({ nodeId })), edges };
}

/** What the nodes became: `c` canceled, `s` succeeded, `.` neither. */
function states({ nodes }: DagSpec): string {
  return nodes.map(({ status }) => ({ 9: "c", 5: "s" })[status ?? 0] ?? ".").join("");
}

describe("valid", () => {
  const answers: [title: string, spec: unknown, expected: boolean][] = [
    ["one node", dag([1]), true],
    ["isolated nodes", dag([1, 2, 3]), true],
    ["the same edge twice", dag([1, 2], "1>2", "1>2"), true],
    ["text ids", { nodes: [{ nodeId: "a" }, { nodeId: "b" }], edges: [{ from: "a", to: "b" }] }, true],
    ["null for the edge list", { nodes: [{ nodeId: 1 }], edges: null }, true],
    ["a duplicate id", dag([1, 2, 1], "1>2"), false],
    ["an edge from an unknown node", dag([1, 2], "9>2"), false],
    ["an edge to an unknown node", dag([1, 2], "1>9"), false],
    ["an id of another type", { nodes: [{ nodeId: 1 }, { nodeId: 2 }], edges: [{ from: 1, to: "2" }] }, false],
    ["an edge without ends", { nodes: [{ nodeId: 1 }], edges: [{}] }, false],
    ["a self loop on the only node", dag([1], "1>1"), false],
    ["a disabled self loop", dag([1, 2], "1>2", "2>2-"), false],
    ["three in a circle beside a chain", dag([1, 2, 3, 4, 5], "1>2", "3>4", "4>5", "5>3"), false],
    ["a circle that leads back into a valid part", dag([1, 2, 3], "2>3", "3>2", "3>1"), false],
    ["disabled nodes on the circle", dag([1, { nodeId: 2, enable: false }, 3], "1>2", "2>3", "3>2"), false],
    ["no node list", {}, false],
    ["nodes that are not a list", { nodes: "1" }, false],
    ["edges that are not a list", { nodes: [{ nodeId: 1 }], edges: {} }, false],
    ["a node that is null", { nodes: [null] }, false],
    ["nothing at all", undefined, false],
  ];
  for (const [title, spec, expected] of answers) {
    test(title, () => assert.equal(valid(spec as DagSpec), expected));
  }

  test("a chain of 100,000 nodes", () => {
    const nodes = range(100_000).map((nodeId) => ({ nodeId }));
    assert.equal(valid({ nodes, edges: chainEdges(100_000) }), true);
    assert.equal(valid({ nodes, edges: [...chainEdges(100_000), { from: 100_000, to: 2 }] }), false);
  });

  test("a ladder with 2^1,000 paths", () => assert.equal(valid(ladder(1000)), true));
});

describe("convert", () => {
  test("every node knows its neighbours and edges", () => {
    const spec = dag([1, 2, 3, 4], "1>2", "1>3", "2>4", "3>4:x");
    const { nodes, roots } = convert(spec);
    const neighbours = [...nodes.values()].map(({ nodeId, predecessors, successors }) => [
      nodeId,
      predecessors.map((node) => node.nodeId),
      successors.map((node) => node.nodeId),
    ]);
    assert.deepEqual(neighbours, [
      [1, [], [2, 3]],
      [2, [1], [4]],
      [3, [1], [4]],
      [4, [2, 3], []],
    ]);
    assert.deepEqual(roots, [nodes.get(1)]);
    assert.equal(nodes.get(1)!.spec, spec.nodes[0]);
    assert.equal(nodes.get(4)!.inEdges[1], spec.edges![3]);
    assert.equal(nodes.get(3)!.outEdges[0], spec.edges![3]);
    assert.equal(nodes.get(2)!.successors[0], nodes.get(4));
  });

  test("parallel edges join two nodes once", () => {
    const { nodes } = convert(dag([1, 2], "1>2:true", "1>2:false"));
    assert.equal(nodes.get(1)!.successors.length, 1);
    assert.equal(nodes.get(2)!.predecessors.length, 1);
    assert.equal(nodes.get(2)!.inEdges.length, 2);
  });

  test("no edge list, no nodes, a circle: all have a model", () => {
    assert.equal(convert({ nodes: [{ nodeId: 1 }] }).roots.length, 1);
    assert.equal(convert({ nodes: [] }).nodes.size, 0);
    assert.equal(convert(dag([1, 2], "1>2", "2>1")).roots.length, 0);
  });

  test("a wide graph", () => {
    const nodes = range(200_001).map((nodeId) => ({ nodeId }));
    const edges = range(200_000).map((i) => ({ from: 1, to: i + 1 }));
    assert.equal(convert({ nodes, edges }).nodes.get(1)!.successors.length, 200_000);
  });

  const refused: [spec: DagSpec, message: string][] = [
    [dag([1, 2, 1]), "the workflow: two nodes have the nodeId 1"],
    [{ ...dag([1], "1>9"), name: "w" }, 'workflow "w": edge 1 → 9: there is no node 9'],
    [dag([1], "8>1"), "the workflow: edge 8 → 1: there is no node 8"],
  ];
  for (const [spec, message] of refused) {
    test(message, () =>
      assert.throws(
        () => convert(spec),
        (error) => hasCode(error, "WORKFLOW_INVALID") && error.message === message,
      ),
    );
  }
});

describe("listRoots", () => {
  const answers: [title: string, spec: DagSpec, expected: number[]][] = [
    ["in the order of the spec", dag([3, 1, 2], "3>2"), [3, 1]],
    ["no edge list", { nodes: [{ nodeId: 2 }, { nodeId: 1 }] }, [2, 1]],
    ["a self loop is no root", dag([1, 2], "1>1"), [2]],
    ["a circle has none", dag([1, 2], "1>2", "2>1"), []],
    ["disabled nodes are roots too", dag([{ nodeId: 1, enable: false }, 2], "1>2"), [1]],
    ["no nodes", dag([]), []],
  ];
  for (const [title, spec, expected] of answers) {
    test(title, () => assert.deepEqual(ids(listRoots(spec)), expected));
  }
});

describe("listReadyNodes", () => {
  const off = (nodeId: number): NodeSpec => ({ nodeId, enable: false });
  const at = (nodeId: number, status: number): NodeSpec => ({ nodeId, status });

  const answers: [title: string, spec: DagSpec, ready: number[], skipped: number[]][] = [
    ["roots in the order of the spec", dag([3, 1, 2]), [3, 1, 2], []],
    ["no nodes", dag([]), [], []],
    ["no edge list", { nodes: [{ nodeId: 1 }] }, [1], []],
    ["a running node is not started again", dag([at(1, 3), 2], "1>2"), [], []],
    ["a queued node holds its successors", dag([at(1, 2), 2], "1>2"), [], []],
    ["a status of another system is not ready", dag([at(1, 7), 2], "1>2"), [], []],
    [
      "every finished status frees",
      dag([at(1, 4), at(2, 5), at(3, 9), at(4, 10), 5], "1>5", "2>5", "3>5", "4>5"),
      [5],
      [],
    ],
    ["finished nodes are not ready", dag([at(1, 4), at(2, 5), at(3, 9), at(4, 10)]), [], []],
    ["one unfinished parent of many holds", dag([at(1, 5), at(2, 1), 3], "1>3", "2>3"), [2], []],
    ["a self loop never gets ready", dag([1, 2], "1>1"), [2], []],
    ["a circle never gets ready", dag([1, 2, 3], "1>2", "2>1"), [3], []],
    ["a disabled self loop is not passed over", dag([off(1), 2], "1>1", "1>2"), [], []],
    ["a disabled node that runs is left alone", dag([{ nodeId: 1, enable: false, status: 3 }, 2], "1>2"), [], []],
    ["a disabled leaf", dag([at(1, 5), off(2)], "1>2"), [], [2]],
    ["a disabled nested workflow", dag([{ nodeId: 1, nodeType: 3, enable: false }, 2], "1>2"), [2], [1]],
    ["a running successor is not freed", dag([off(1), at(2, 3)], "1>2"), [], [1]],
    ["a join of a disabled and a live arm waits", dag([off(1), 2, 3], "1>3", "2>3"), [2], [1]],
    ["released nodes come last, in edge order", dag([off(1), 2, 3, 4], "1>3", "1>2"), [4, 3, 2], [1]],
    ["a doubled edge keeps the first place", dag([off(1), 2, 3], "1>2", "1>3", "1>2"), [2, 3], [1]],
    ["a doubled edge to a disabled node", dag([off(1), off(2), 3], "1>2", "1>2", "2>3"), [3], [1, 2]],
    // Skipping 1 frees 4 and then goes down 2 before 3: the nodes behind 2 come before those behind 3.
    [
      "direct successors first, then depth first",
      dag([off(1), off(2), off(3), 4, 5, 6], "1>2", "1>3", "1>4", "3>6", "2>5"),
      [4, 5, 6],
      [1, 2, 3],
    ],
    ["one skipped chain after the other", dag([off(1), off(2), 3, off(4), 5], "1>4", "4>5", "2>3"), [5, 3], [1, 2, 4]],
    [
      "a diamond of disabled nodes frees its end once",
      dag([off(1), off(2), off(3), 4], "1>2", "1>3", "2>4", "3>4"),
      [4],
      [1, 2, 3],
    ],
    ["a cut edge still holds", dag([1, 2], "1>2-"), [1], []],
  ];
  for (const [title, spec, ready, skipped] of answers) {
    test(title, () => assert.deepEqual(readyAndSkipped(spec), { ready, skipped }));
  }

  test("gives the spec's own nodes", () => {
    const spec = dag([1]);
    assert.equal(listReadyNodes(spec)[0], spec.nodes[0]);
  });

  test("null reads as missing", () => {
    const node = JSON.parse('{"nodeId": 1, "status": null, "enable": null}') as NodeSpec;
    assert.deepEqual(listReadyNodes({ nodes: [node] }), [node]);
  });

  test("a second call passes over nothing more", () => {
    const spec = dag([off(1), 2], "1>2");
    listReadyNodes(spec);
    assert.deepEqual(readyAndSkipped(spec), { ready: [2], skipped: [] });
  });

  test("100,000 disabled nodes in a chain", () => {
    const nodes: NodeSpec[] = range(100_000).map(off);
    nodes.push({ nodeId: 100_001 });
    assert.deepEqual(ids(listReadyNodes({ nodes, edges: chainEdges(100_001) })), [100_001]);
  });

  test("a ladder of disabled nodes with 2^1,000 paths", () => {
    const spec = ladder(1000);
    for (const node of spec.nodes) node.enable = false;
    assert.deepEqual(listReadyNodes(spec), []);
    assert(spec.nodes.every(({ status }) => status === 5));
  });
});

describe("decide and handleDisableEdges", () => {
  const answers: [title: string, spec: DagSpec, decisions: [number, boolean][], expected: string][] = [
    ["false takes the false edge", dag([1, 2, 3], "1>2:true", "1>3:false"), [[1, false]], "sc."],
    ["a missing property is false", dag([1, 2, 3], "1>2:true", "1>3"), [[1, true]], "s.c"],
    ["another word is false", dag([1, 2, 3], "1>2:yes", "1>3:true"), [[1, false]], "s.c"],
    ["both ways to one node: it lives", dag([1, 2, 3], "1>2:true", "1>2:false", "2>3"), [[1, false]], "s.."],
    ["a doubled edge goes off as one", dag([1, 2], "1>2:true", "1>2:true"), [[1, false]], "sc"],
    ["a join of both branches lives", dag([1, 2, 3, 4], "1>2:true", "1>3:false", "2>4", "3>4"), [[1, true]], "s.c."],
    ["a decision with no way out", dag([1]), [[1, true]], "s"],
    [
      "two decisions cancel the join between them",
      dag([1, 2, 3, 4], "1>3:true", "2>3:true", "1>4:false", "2>4:false"),
      [
        [1, false],
        [2, false],
      ],
      "ssc.",
    ],
    [
      "cancellation runs through a decision in the dead branch",
      dag([1, 2, 3, 4], "1>2:true", "2>3:true", "2>4:false"),
      [[1, false]],
      "sccc",
    ],
    ["an edge that was off already counts as off", dag([1, 2, 3], "1>3:true", "2>3-"), [[1, false]], "s.c"],
    ["but a decision does not carry it on by itself", dag([1, 2, 3, 4], "1>2:true", "3>4-"), [[1, true]], "s..."],
    ["a live arm from elsewhere keeps the target", dag([1, 2, 3], "1>2:true", "3>2"), [[1, false]], "s.."],
  ];
  for (const [title, spec, decisions, expected] of answers) {
    test(title, () => {
      for (const [nodeId, result] of decisions) decide(spec, nodeId, result);
      assert.equal(states(spec), expected);
    });
  }

  test("the taken edges stay as they were, the result is text", () => {
    const spec = dag([1, 2, 3], "1>2:true", "1>3:false");
    decide(spec, 1, true);
    assert.deepEqual(spec, {
      nodes: [
        { nodeId: 1, status: 5, result: "true" },
        { nodeId: 2 },
        { nodeId: 3, enable: false, disableByControlNode: true, status: 9 },
      ],
      edges: [
        { from: 1, to: 2, property: "true" },
        { from: 1, to: 3, property: "false", enable: false },
      ],
    });
  });

  test("an unknown decision", () => {
    assert.throws(
      () => decide(dag([1]), 2, true),
      (error) => hasCode(error, "TASK_UNKNOWN"),
    );
  });

  test("without a decision, every edge that is off is carried on", () => {
    const spec = dag([1, 2, 3, 4, 5], "1>2-", "2>3", "4>5-", "1>5");
    handleDisableEdges(spec);
    assert.equal(states(spec), ".cc..");
    assert.deepEqual(
      spec.edges!.map(({ enable }) => enable),
      [false, false, false, undefined],
    );
  });

  test("no edge off, or no edges: nothing happens", () => {
    const spec = dag([1, 2], "1>2");
    handleDisableEdges(spec);
    assert.deepEqual(spec, dag([1, 2], "1>2"));
    handleDisableEdges({ nodes: [{ nodeId: 1 }] });
  });

  test("what follows a finished node keeps its edges", () => {
    const spec = dag([1, { nodeId: 2, status: 4 }, 3], "1>2-", "2>3");
    handleDisableEdges(spec);
    assert.equal(states(spec), "...");
    assert.equal(spec.edges![1]!.enable, undefined);
  });

  test("a circle ends", () => {
    const spec = dag([1, 2, 3], "1>2-", "2>3", "3>2-");
    handleDisableEdges(spec);
    assert.equal(states(spec), ".cc");
  });

  test("100,000 nodes behind the branch not taken", () => {
    const spec: DagSpec = { nodes: range(100_000).map((nodeId) => ({ nodeId })), edges: chainEdges(100_000) };
    decide(spec, 1, true);
    assert.equal(states(spec), `s${"c".repeat(99_999)}`);
  });

  test("a ladder with 2^1,000 paths", () => {
    const spec = ladder(1000);
    decide(spec, 1, true);
    decide(spec, 2, true);
    assert.equal(states(spec), `ss${"c".repeat(1998)}`);
  });

  test("a join after a decision gets ready by its live arm alone", () => {
    const spec = dag([1, 2, 3, 4], "1>2:true", "1>3:false", "2>4", "3>4");
    decide(spec, 1, true);
    assert.deepEqual(ids(listReadyNodes(spec)), [2]);
    spec.nodes[1]!.status = 5;
    assert.deepEqual(ids(listReadyNodes(spec)), [4]);
  });
});

describe("resetRetryableNode", () => {
  test("resets the failed and the stopped, and returns them", () => {
    const spec: DagSpec = {
      nodes: [
        { nodeId: 1, status: 4, instanceId: 11, result: "boom", finishedTime: "2025-01-01 00:00:00" },
        { nodeId: 2, status: 10, skipWhenFailed: true, instanceId: 12 },
        { nodeId: 3, status: 4, skipWhenFailed: true, instanceId: 13 },
        { nodeId: 4, status: 9, enable: false, disableByControlNode: true },
        { nodeId: 5, status: 3, instanceId: 15 },
        { nodeId: 6 },
        { nodeId: 7, nodeType: 3, status: 10, instanceId: 17 },
        { nodeId: 8, nodeType: 2, status: 4 },
        { nodeId: 9, status: 4, skipWhenFailed: false },
      ],
    };
    const untouched = structuredClone(spec.nodes);
    const reset = resetRetryableNode(spec);
    assert.deepEqual(reset, [
      { nodeId: 1, status: 1, instanceId: null, result: "boom", finishedTime: "2025-01-01 00:00:00" },
      { nodeId: 2, status: 1, skipWhenFailed: true, instanceId: null },
      { nodeId: 7, nodeType: 3, status: 1, instanceId: 17 },
      { nodeId: 8, nodeType: 2, status: 1 },
      { nodeId: 9, status: 1, skipWhenFailed: false, instanceId: null },
    ]);
    assert.equal(reset[0], spec.nodes[0]);
    for (const place of [2, 3, 4, 5]) assert.deepEqual(spec.nodes[place], untouched[place]);
  });

  test("nothing to reset", () => assert.deepEqual(resetRetryableNode(dag([1, 2], "1>2")), []));
});
