import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob } from "../authoring/job.ts";
import { JobRegistry } from "../authoring/job-registry.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";
import { DagRig, decision } from "../kernel/dag/dag.rig.ts";
import type { Input } from "../runtime/input.ts";
import { inputOf, type Order, type OrderParts } from "./order.ts";

const registry = new JobRegistry();
registry.register(defineJob("load", { input: z.object({ table: z.string() }) }, () => 1));
registry.register(defineJob("free", () => 1));

const nodes = { a: { jobName: "load" }, b: { jobName: "free" }, c: decision, d: { jobName: "gone" } };

/** What the order says to an instance of `a>b c d`, whose first task has number 0. */
function inputFor(order: Order, options: { rig?: DagRig; fullFor?: OrderParts["fullFor"] } = {}): Input {
  const { rig = DagRig.started("a>b c d", { nodes }), fullFor = () => undefined } = options;
  // Only what survives this can travel.
  const travelled = JSON.parse(JSON.stringify(order)) as Order;
  assert.deepEqual(travelled, order);
  return inputOf(travelled, rig.machine, { registry, fullFor });
}

function refusalOf(order: Order, options: { rig?: DagRig; fullFor?: OrderParts["fullFor"] } = {}): [ErrorCode, string] {
  try {
    inputFor(order, options);
  } catch (error) {
    assert.ok(error instanceof EngineError);
    return [error.code, error.message];
  }
  throw new Error(`${order.type} was not refused`);
}

describe("an order", () => {
  test("about the whole instance becomes the message that says so", () => {
    assert.deepEqual(inputFor({ type: "pause" }), { type: "PauseInstance" });
    assert.deepEqual(inputFor({ type: "resume" }), { type: "ResumeInstance" });
    assert.deepEqual(inputFor({ type: "terminate", reason: "enough" }), {
      type: "TerminateInstance",
      reason: "enough",
    });
    assert.deepEqual(inputFor({ type: "retry" }), { type: "RetryInstance" });
    const patch = { set: "1", removed: null };
    assert.deepEqual(inputFor({ type: "update-context", patch }), { type: "UpdateContext", patch });
  });

  test("about a task names it, and the message has its number", () => {
    assert.deepEqual(inputFor({ type: "skip", task: "b" }), { type: "SkipTask", task: 1 });
    assert.deepEqual(inputFor({ type: "succeed", task: "b" }), { type: "SucceedTask", task: 1 });
    assert.deepEqual(inputFor({ type: "succeed", task: "b", output: '"x"' }), {
      type: "SucceedTask",
      task: 1,
      output: '"x"',
    });
    assert.deepEqual(inputFor({ type: "rerun", task: "a" }), { type: "RerunInstance", task: 0 });
    const node = { nodeId: 9, nodeName: "sub", jobName: "free" };
    assert.deepEqual(inputFor({ type: "add-sub-task", parent: "a", node }), { type: "AddSubTask", parent: 0, node });
  });

  test("about a task that is not there is refused, with the name that may have been meant", () => {
    const orders: Order[] = [
      { type: "skip", task: "aa" },
      { type: "succeed", task: "aa" },
      { type: "rerun", task: "aa" },
      { type: "update-params", task: "aa", params: "1" },
      { type: "add-sub-task", parent: "aa", node: { nodeId: 9, nodeName: "sub" } },
    ];
    for (const order of orders) {
      assert.deepEqual(refusalOf(order), ["TASK_UNKNOWN", 'instance "i" has no task "aa"; did you mean "a"?']);
    }
    assert.deepEqual(refusalOf({ type: "skip", task: "elsewhere" }), [
      "TASK_UNKNOWN",
      'instance "i" has no task "elsewhere"',
    ]);
  });
});

describe("an order with parameters", () => {
  for (const [order, input] of [
    [
      { type: "rerun", task: "a" },
      { type: "RerunInstance", task: 0 },
    ],
    [
      { type: "update-params", task: "a" },
      { type: "UpdateParams", task: 0 },
    ],
  ] as const) {
    test(`to ${order.type} has them checked against the job's schema, where the job is`, () => {
      const good = '{"table":"orders"}';
      assert.deepEqual(inputFor({ ...order, params: good }), { ...input, params: good });
      const [code, message] = refusalOf({ ...order, params: '{"table":7}' });
      assert.equal(code, "PARAMS_INVALID");
      assert.match(message, /"a".*"load".*table/s);
    });
  }

  test("may take them away from a task whose job needs none", () => {
    assert.deepEqual(inputFor({ type: "update-params", task: "b", params: "" }), {
      type: "UpdateParams",
      task: 1,
      params: "",
    });
    const [code] = refusalOf({ type: "update-params", task: "a", params: "" });
    assert.equal(code, "PARAMS_INVALID");
  });

  test("is refused for a task that runs no job, and for one whose job is not here", () => {
    assert.deepEqual(refusalOf({ type: "update-params", task: "c", params: "1" }), [
      "TASK_INVALID",
      'task "c" runs no job, so it has no params to update',
    ]);
    const [code, message] = refusalOf({ type: "update-params", task: "d", params: "1" });
    assert.equal(code, "JOB_MISSING");
    assert.match(message, /"gone"/);
  });
});

describe("an order that reopens an ended instance", () => {
  const reopening: Order[] = [
    { type: "retry" },
    { type: "rerun", task: "a" },
    { type: "succeed", task: "a" },
    { type: "skip", task: "a" },
  ];
  const full = (workflow: string): number | undefined => (workflow === "w" ? 3 : undefined);
  const failed = (): DagRig => DagRig.started("a").fail("a");

  test("is refused while as many run as may", () => {
    for (const order of reopening) {
      assert.deepEqual(refusalOf(order, { rig: failed(), fullFor: full }), [
        "INSTANCE_STATE",
        'cannot reopen instance "i": 3 instances of workflow "w" run, which is its maximum',
      ]);
    }
  });

  test("is carried out when there is room, or when the instance has not ended", () => {
    for (const order of reopening) {
      inputFor(order, { rig: failed() });
      inputFor(order, { rig: DagRig.started("a"), fullFor: full });
    }
  });

  test("does not keep others from being carried out", () => {
    const orders: Order[] = [
      { type: "terminate", reason: "x" },
      { type: "update-context", patch: {} },
    ];
    for (const order of orders) inputFor(order, { rig: failed(), fullFor: full });
  });
});
