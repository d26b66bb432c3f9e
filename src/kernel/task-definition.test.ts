import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRetryPolicy } from "./retry.ts";
import { defineTask } from "./task-definition.ts";

test("a node that says nothing is a job that may take an hour and is tried once", () => {
  assert.deepEqual(defineTask({ nodeId: 1 }, "a"), {
    name: "a",
    nodeId: 1,
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

test("what it says counts", () => {
  const task = defineTask(
    {
      nodeId: "x",
      nodeType: 1,
      jobName: "pay",
      jobId: 9,
      nodeParams: "{}",
      enable: false,
      skipWhenFailed: true,
      timeoutSeconds: 2,
      retryCount: 3,
      retryPolicy: { factor: 5 },
      domain: "d",
    },
    "a",
  );
  assert.deepEqual(
    [task.nodeId, task.jobName, task.jobId, task.params, task.enabled, task.skipWhenFailed, task.domain],
    ["x", "pay", 9, "{}", false, true, "d"],
  );
  assert.deepEqual([task.timeoutMs, task.retryCount], [2000, 3]);
  assert.deepEqual(task.retryPolicy, { ...defaultRetryPolicy, factor: 5 });
  assert.equal(task.workflowName, undefined, "the number of a job names no workflow");
});

test("a nested workflow is named, or known by the number it has elsewhere", () => {
  const named = defineTask({ nodeId: 1, nodeType: 3, workflowName: "inner", workflowVersion: "2", jobId: 5 }, "a");
  assert.deepEqual([named.kind, named.workflowName, named.workflowVersion], ["nested", "inner", "2"]);
  assert.equal(defineTask({ nodeId: 1, nodeType: 3, jobId: 5 }, "a").workflowName, "5");
  assert.equal(defineTask({ nodeId: 1, nodeType: 3 }, "a").workflowName, undefined);
});

test("decisions are the third kind, and there is no fourth", () => {
  assert.equal(defineTask({ nodeId: 1, nodeType: 2 }, "a").kind, "decision");
  assert.throws(() => defineTask({ nodeId: 1, nodeType: 4 as never }, "a"), /a node's type is 1, 2 or 3/);
});
