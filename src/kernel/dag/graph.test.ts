/** Spec §3.3: the reference model that the engine runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRetryPolicy } from "../retry.ts";
import { specOf } from "./dag.rig.ts";
import { defineTask } from "../task-definition.ts";
import { Graph } from "./graph.ts";

test("edges are numbered as in the definition and known at both ends", () => {
  const graph = new Graph(specOf("a>b a>c:true b>!c a>b"));
  assert.deepEqual([...graph.outEdges(0)], [0, 1, 3]);
  assert.deepEqual([...graph.inEdges(1)], [0, 3]);
  assert.deepEqual([...graph.inEdges(2)], [1, 2]);
  assert.deepEqual(graph.edgeProperty, [undefined, "true", undefined, undefined]);
  assert.deepEqual(graph.edgeEnabled, [true, true, false, true]);
});

test("a task that joined later has no edges", () => {
  const graph = new Graph(specOf("a>b"));
  for (const task of [2, 3, 100]) assert.deepEqual([...graph.outEdges(task), ...graph.inEdges(task)], []);
});

test("a level is the length of the longest way from a root", () => {
  const graph = new Graph(specOf("a>b>c a>c d"));
  assert.deepEqual(
    [0, 1, 2, 3].map((task) => graph.depth(task)),
    [0, 1, 2, 0],
  );
});

test("what a definition leaves out has a default", () => {
  const graph = new Graph({ nodes: [{ nodeId: 5 }] });
  const { tasks, failurePolicy, timeoutMs, size } = graph;
  assert.deepEqual(
    { failurePolicy, timeoutMs, size },
    { failurePolicy: "finish-running", timeoutMs: undefined, size: 1 },
  );
  assert.deepEqual(tasks[0], {
    name: "5",
    nodeId: 5,
    kind: "job",
    jobName: undefined,
    jobId: undefined,
    params: undefined,
    enabled: true,
    skipWhenFailed: false,
    timeoutMs: undefined,
    defaultTimeoutMs: 3_600_000,
    heartbeatTimeoutMs: undefined,
    retryCount: 0,
    retryPolicy: defaultRetryPolicy,
    domain: undefined,
    worker: undefined,
    workerTags: undefined,
    workflowName: undefined,
    workflowVersion: undefined,
    whenParentEnds: undefined,
    map: undefined,
  });
});

test("settings are taken over, seconds become milliseconds", () => {
  const graph = new Graph(
    specOf("a", { timeoutSeconds: 2, maxConcurrentTasks: 3, domain: "d", failurePolicy: "continue" }),
  );
  const { timeoutMs, maxConcurrentTasks, domain, failurePolicy } = graph;
  assert.deepEqual([timeoutMs, maxConcurrentTasks, domain, failurePolicy], [2000, 3, "d", "continue"]);
});

test("a retry policy fills in what it does not say", () => {
  const { retryPolicy } = defineTask({ nodeId: 1, retryPolicy: { initialMs: 5 } }, "a");
  assert.deepEqual(retryPolicy, { ...defaultRetryPolicy, initialMs: 5 });
});

test("a nested workflow is found by its name, else by the id that PowerJob puts into jobId", () => {
  assert.equal(defineTask({ nodeId: 1, nodeType: 3, jobId: 12 }, "a").workflowName, "12");
  assert.equal(defineTask({ nodeId: 1, nodeType: 3, jobId: 12, workflowName: "w" }, "a").workflowName, "w");
  assert.equal(defineTask({ nodeId: 1, nodeType: 1, jobId: 12 }, "a").workflowName, undefined);
});

test("names are unique: later nodes of a name have their id behind it", () => {
  const graph = new Graph({
    nodes: [
      { nodeId: 1, nodeName: "x" },
      { nodeId: 2, nodeName: "x" },
    ],
  });
  assert.deepEqual(
    [...graph.byName],
    [
      ["x", 0],
      ["x#2", 1],
    ],
  );
});
