import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { EngineError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error.ts";
import { checkSpec } from "./check.ts";
import type { DagSpec } from "./dag-spec.ts";

/** Nodes `a`, `b`, … with the ids 1, 2, …; edges as pairs of ids. */
function graph(nodeCount: number, ...edges: readonly (readonly [from: number, to: number])[]): DagSpec {
  return {
    name: "nightly",
    nodes: Array.from({ length: nodeCount }, (_, place) => ({
      nodeId: place + 1,
      nodeName: String.fromCharCode(97 + (place % 26)) + (place < 26 ? "" : String(place)),
    })),
    edges: edges.map(([from, to]) => ({ from, to })),
  };
}

function chain(length: number): DagSpec {
  return graph(length, ...Array.from({ length: length - 1 }, (_, i) => [i + 1, i + 2] as const));
}

function refusal(spec: unknown): { code: ErrorCode; message: string } | undefined {
  try {
    checkSpec(spec as DagSpec);
    return undefined;
  } catch (error) {
    assert(error instanceof EngineError, String(error));
    return { code: error.code, message: error.message };
  }
}

function accepts(title: string, spec: unknown): void {
  test(title, () => assert.equal(refusal(spec), undefined));
}

function refuses(title: string, spec: unknown, code: ErrorCode, message: string): void {
  test(title, () => assert.deepEqual(refusal(spec), { code, message }));
}

describe("what runs is accepted", () => {
  accepts("one node, no edge list", { nodes: [{ nodeId: 1 }] });
  accepts("a diamond", graph(4, [1, 2], [1, 3], [2, 4], [3, 4]));
  accepts("the same edge twice", graph(2, [1, 2], [1, 2]));
  accepts("nodes that nothing joins", graph(3));
  accepts("text ids", { nodes: [{ nodeId: "x" }, { nodeId: "y" }], edges: [{ from: "x", to: "y" }] });
  accepts("two nodes of one name", {
    nodes: [
      { nodeId: 1, nodeName: "a" },
      { nodeId: 2, nodeName: "a" },
    ],
  });
  accepts("a run's fields and unknown ones", { nodes: [{ nodeId: 1, status: 99, result: {}, colour: "red" }], x: 1 });
  accepts("null where PowerJob writes it", {
    nodes: [
      { nodeId: 1, nodeType: null, jobId: null, nodeName: null, nodeParams: null, enable: null, skipWhenFailed: null },
    ],
    edges: null,
  });
  accepts("null on an edge", {
    nodes: [{ nodeId: 1 }, { nodeId: 2 }],
    edges: [{ from: 1, to: 2, property: null, enable: null }],
  });
  accepts("every setting", {
    name: "nightly",
    domain: "etl",
    maxConcurrentTasks: 1,
    timeoutSeconds: 0.5,
    failurePolicy: "continue",
    maxInstances: { max: 1, policy: "skip" },
    context: { date: "2025-01-01" },
    nodes: [
      {
        nodeId: 1,
        nodeType: 1,
        jobId: 7,
        nodeName: "extract",
        nodeParams: "{}",
        enable: false,
        skipWhenFailed: true,
        taskId: "t",
        jobName: "job",
        timeoutSeconds: 30,
        retryCount: 0,
        retryPolicy: { initialMs: 0, factor: 1, maxMs: 0, jitter: 1, nonRetryable: ["TypeError"] },
        domain: "etl",
      },
      { nodeId: 2, nodeType: 2, nodeParams: "context.rows > 0" },
      { nodeId: 3, nodeType: 3, workflowName: "child", workflowVersion: "abc" },
      { nodeId: 4, nodeType: 3, jobId: 12 },
    ],
    edges: [{ from: 2, to: 3, property: "true", enable: false }],
  });
});

describe("a malformed definition is refused", () => {
  const w = 'workflow "nightly"';
  const refusedAs = (title: string, spec: unknown, message: string): void =>
    refuses(title, spec, "WORKFLOW_INVALID", message);
  const node = (fields: object): unknown => ({ name: "nightly", nodes: [{ nodeId: 1, nodeName: "a", ...fields }] });
  const settings = (fields: object): unknown => ({ name: "nightly", nodes: [{ nodeId: 1 }], ...fields });
  const edge = (fields: unknown): unknown => ({ ...graph(2), edges: [fields] });

  refusedAs("null", null, "the workflow: must be an object, got null");
  refusedAs("a list", [], "the workflow: must be an object, got a list");
  refusedAs("no nodes", {}, "the workflow: nodes must be a list, got undefined");
  refusedAs("nodes as an object", { name: "nightly", nodes: {} }, `${w}: nodes must be a list, got an object`);
  refusedAs("edges as text", { ...graph(1), edges: "1>2" }, `${w}: edges must be a list, got "1>2"`);
  refusedAs("a blank name", settings({ name: " " }), 'workflow " ": name must be text that is not blank, got " "');
  refusedAs(
    "a name that is no text",
    settings({ name: 5 }),
    "the workflow: name must be text that is not blank, got 5",
  );
  refusedAs(
    "a very long name is cut",
    settings({ name: "n".repeat(200), domain: 1 }),
    `workflow "${"n".repeat(100)}…": domain must be text that is not blank, got 1`,
  );

  for (const bad of [0, -1, 1.5, "5", null, Number.NaN, Infinity]) {
    refusedAs(
      `maxConcurrentTasks ${bad}`,
      settings({ maxConcurrentTasks: bad }),
      `${w}: maxConcurrentTasks must be a whole number, at least 1, got ${typeof bad === "string" ? '"5"' : bad}`,
    );
  }
  for (const bad of [0, -1, Number.NaN, Infinity, true, 1e300]) {
    refusedAs(
      `timeoutSeconds ${bad}`,
      settings({ timeoutSeconds: bad }),
      `${w}: timeoutSeconds must be a number above 0, at most 3162240000, got ${bad}`,
    );
    refusedAs(
      `a task's timeoutSeconds ${bad}`,
      node({ timeoutSeconds: bad }),
      `${w}, task "a": timeoutSeconds must be a number above 0, at most 3162240000, got ${bad}`,
    );
  }
  refusedAs(
    "failurePolicy",
    settings({ failurePolicy: "stop" }),
    `${w}: failurePolicy must be one of "finish-running", "abort-running", "continue", got "stop"`,
  );
  refusedAs("context", settings({ context: [] }), `${w}: context must be an object, got a list`);
  refusedAs("maxInstances", settings({ maxInstances: 3 }), `${w}: maxInstances must be an object, got 3`);
  refusedAs(
    "maxInstances without policy",
    settings({ maxInstances: { max: 3 } }),
    `${w}, maxInstances: policy is missing`,
  );
  refusedAs(
    "maxInstances of 0",
    settings({ maxInstances: { max: 0, policy: "fail" } }),
    `${w}, maxInstances: max must be a whole number, at least 1, got 0`,
  );

  refusedAs(
    "a node that is no object",
    { name: "nightly", nodes: [null] },
    `${w}, nodes[0]: must be an object, got null`,
  );
  refusedAs("a node without id", { name: "nightly", nodes: [{ nodeId: 1 }, {}] }, `${w}, nodes[1]: nodeId is missing`);
  const idMust = "must be a whole number or text that is not empty";
  for (const [shownId, id] of [
    ['""', ""],
    ["1.5", 1.5],
    ["1e+300", 1e300],
    ["9007199254740992", 2 ** 53],
    ["NaN", Number.NaN],
    ["Infinity", Infinity],
    ["true", true],
    ["a list", [1]],
  ] as const) {
    const given = `${typeof id} ${String(id)}`;
    refusedAs(
      `a nodeId that is ${given}`,
      { name: "nightly", nodes: [{ nodeId: id }] },
      `${w}, nodes[0]: nodeId ${idMust}, got ${shownId}`,
    );
    refusedAs(
      `an edge to ${given}`,
      { name: "nightly", nodes: [{ nodeId: 1 }], edges: [{ from: 1, to: id }] },
      `${w}, edges[0]: to ${idMust}, got ${shownId}`,
    );
  }
  refusedAs(
    "more nodes than a definition may have",
    { name: "nightly", nodes: Array.from({ length: 100_001 }, (_, nodeId) => ({ nodeId })) },
    `${w}: has 100001 nodes; a definition has at most 100000`,
  );
  refusedAs(
    "more edges than a definition may have",
    { name: "nightly", nodes: [{ nodeId: 1 }], edges: Array.from({ length: 500_001 }, () => ({ from: 1, to: 2 })) },
    `${w}: has 500001 edges; a definition has at most 500000`,
  );
  refusedAs(
    "a blank nodeName",
    { name: "nightly", nodes: [{ nodeId: 1, nodeName: "" }] },
    `${w}, nodes[0]: nodeName must be text that is not blank, got ""`,
  );
  refusedAs(
    "the same id twice",
    { name: "nightly", nodes: [{ nodeId: 1 }, { nodeId: 2 }, { nodeId: 1 }] },
    `${w}: nodes[2] has the nodeId of another node: 1`,
  );
  refusedAs(
    "ids that differ only in type",
    { name: "nightly", nodes: [{ nodeId: 1 }, { nodeId: "1" }] },
    `${w}: nodes[1] has the nodeId of another node: "1"`,
  );
  refusedAs("nodeType", node({ nodeType: 4 }), `${w}, task "a": nodeType must be one of 1, 2, 3, got 4`);
  refusedAs("nodeType as text", node({ nodeType: "1" }), `${w}, task "a": nodeType must be one of 1, 2, 3, got "1"`);
  refusedAs("enable", node({ enable: "yes" }), `${w}, task "a": enable must be true or false, got "yes"`);
  refusedAs("nodeParams", node({ nodeParams: {} }), `${w}, task "a": nodeParams must be text, got an object`);
  refusedAs(
    "retryCount",
    node({ retryCount: -1 }),
    `${w}, task "a": retryCount must be a whole number, at least 0, got -1`,
  );
  refusedAs("retryPolicy", node({ retryPolicy: 3 }), `${w}, task "a": retryPolicy must be an object, got 3`);
  refusedAs(
    "initialMs",
    node({ retryPolicy: { initialMs: -1 } }),
    `${w}, task "a", retryPolicy: initialMs must be a number, at least 0 and at most 3162240000000, got -1`,
  );
  refusedAs(
    "jitter",
    node({ retryPolicy: { jitter: 2 } }),
    `${w}, task "a", retryPolicy: jitter must be a number, at least 0 and at most 1, got 2`,
  );
  refusedAs(
    "nonRetryable",
    node({ retryPolicy: { nonRetryable: [1] } }),
    `${w}, task "a", retryPolicy: nonRetryable must be a list of texts, got a list`,
  );
  refusedAs(
    "retryOn",
    node({ retryPolicy: { retryOn: "Busy" } }),
    `${w}, task "a", retryPolicy: retryOn must be a list of texts, got "Busy"`,
  );
  refusedAs(
    "null where only Heddle writes",
    node({ domain: null }),
    `${w}, task "a": domain must be text that is not blank, got null`,
  );
  refusedAs(
    "a nested workflow that names none",
    node({ nodeType: 3, jobId: null }),
    `${w}, task "a": a nested workflow needs a workflowName or a jobId`,
  );
  refusedAs(
    "a task without a name is called by its id",
    { nodes: [{ nodeId: "x7", enable: 1 }] },
    'the workflow, task "x7": enable must be true or false, got 1',
  );

  refusedAs("an edge that is no object", edge(7), `${w}, edges[0]: must be an object, got 7`);
  refusedAs("an edge without to", edge({ from: 1 }), `${w}, edges[0]: to is missing`);
  refusedAs("an edge from nowhere", edge({ from: 9, to: 2 }), `${w}: edge 9 → 2: there is no node 9`);
  refusedAs("an edge to nowhere", edge({ from: 1, to: "2" }), `${w}: edge 1 → "2": there is no node "2"`);
  refusedAs(
    "an edge's property",
    edge({ from: 1, to: 2, property: true }),
    `${w}, edge 1 → 2: property must be text, got true`,
  );
  refusedAs(
    "an edge's enable",
    edge({ from: 1, to: 2, enable: 0 }),
    `${w}, edge 1 → 2: enable must be true or false, got 0`,
  );
});

refuses("an empty workflow", { name: "nightly", nodes: [] }, "WORKFLOW_EMPTY", 'workflow "nightly" has no tasks');

describe("circles", () => {
  const circle = (names: string): string => `workflow "nightly": tasks wait for each other in a circle: ${names}`;

  refuses(
    "a task that depends on itself",
    graph(2, [1, 2], [2, 2]),
    "DEPENDENCY_SELF",
    'workflow "nightly": task "b" depends on itself',
  );
  refuses("two nodes", graph(2, [2, 1], [1, 2]), "WORKFLOW_CYCLE", circle("a → b → a"));
  refuses("three nodes", graph(3, [3, 1], [1, 2], [2, 3]), "WORKFLOW_CYCLE", circle("a → b → c → a"));
  refuses(
    "behind a root, before a leaf",
    graph(5, [1, 2], [2, 3], [3, 4], [4, 2], [4, 5]),
    "WORKFLOW_CYCLE",
    circle("b → c → d → b"),
  );
  refuses("that no root reaches", graph(4, [1, 3], [3, 1], [2, 4]), "WORKFLOW_CYCLE", circle("a → c → a"));
  refuses(
    "a disabled edge counts",
    {
      ...graph(2),
      edges: [
        { from: 1, to: 2 },
        { from: 2, to: 1, enable: false },
      ],
    },
    "WORKFLOW_CYCLE",
    circle("a → b → a"),
  );
  refuses(
    "nodes of one name are told apart",
    {
      name: "nightly",
      nodes: [{ nodeId: 1, nodeName: "a" }, { nodeId: 2, nodeName: "a" }, { nodeId: 3 }],
      edges: [
        { from: 1, to: 2 },
        { from: 2, to: 3 },
        { from: 3, to: 1 },
      ],
    },
    "WORKFLOW_CYCLE",
    circle("a → a#2 → 3 → a"),
  );
  refuses(
    "of a long one the middle is left out",
    { ...chain(26), edges: [...chain(26).edges!, { from: 26, to: 1 }] },
    "WORKFLOW_CYCLE",
    circle("a → b → c → d → e → f → g → h → i → j → … 7 more … → r → s → t → u → v → w → x → y → z → a"),
  );
});

describe("large graphs", () => {
  test("a chain of 100,000 nodes", () => assert.equal(refusal(chain(100_000)), undefined));

  test("a cycle of 100,000 nodes", () => {
    const spec = chain(100_000);
    spec.edges!.push({ from: 100_000, to: 1 });
    assert.equal(refusal(spec)?.code, "WORKFLOW_CYCLE");
  });

  test("a ladder with 2^5,000 paths", () => {
    const edges = Array.from({ length: 5000 }, (_, rung) => {
      const [a, b] = [2 * rung + 1, 2 * rung + 2];
      return [
        [a, a + 2],
        [a, b + 2],
        [b, a + 2],
        [b, b + 2],
      ] as [number, number][];
    }).flat();
    assert.equal(refusal(graph(10_002, ...edges)), undefined);
  });
});

test("refuses exactly the graphs with a cycle, and what it names is one", () => {
  const graphs = fc.integer({ min: 2, max: 12 }).chain((nodeCount) => {
    const end = fc.integer({ min: 1, max: nodeCount });
    const arcs = fc.array(
      fc.tuple(end, end).filter(([from, to]) => from !== to),
      { maxLength: 20 },
    );
    return arcs.map((edges) => graph(nodeCount, ...edges));
  });
  fc.assert(
    fc.property(graphs, (spec) => {
      const refused = refusal(spec);
      assert.equal(refused?.code, hasCycle(spec) ? "WORKFLOW_CYCLE" : undefined);
      if (refused !== undefined) assertIsCycle(spec, refused.message.split(": ").at(-1)!.split(" → "));
    }),
    { numRuns: 1000 },
  );
});

/** The plain way: some path comes back to where it started. */
function hasCycle(spec: DagSpec): boolean {
  const reaches = (from: unknown, target: unknown, seen = new Set<unknown>()): boolean =>
    spec.edges!.some((edge) => {
      if (edge.from !== from) return false;
      if (edge.to === target) return true;
      if (seen.has(edge.to)) return false;
      seen.add(edge.to);
      return reaches(edge.to, target, seen);
    });
  return spec.nodes.some(({ nodeId }) => reaches(nodeId, nodeId));
}

function assertIsCycle(spec: DagSpec, names: readonly string[]): void {
  const ids = names.map((name) => spec.nodes.find((node) => node.nodeName === name)?.nodeId);
  assert(ids.length > 2, "a cycle has at least two nodes and comes back to the first");
  assert.equal(ids.at(-1), ids[0]);
  assert.equal(new Set(ids).size, ids.length - 1, "no node but the first comes twice");
  for (const [step, from] of ids.slice(0, -1).entries()) {
    assert(
      spec.edges!.some((edge) => edge.from === from && edge.to === ids[step + 1]),
      `${names.join(" → ")} follows edges`,
    );
  }
}
