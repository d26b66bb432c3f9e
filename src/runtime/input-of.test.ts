import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob } from "../authoring/job.ts";
import { JobRegistry } from "../authoring/job-registry.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";
import { DagRig, decision } from "../kernel/dag/dag.rig.ts";
import type { Input } from "./input.ts";
import type { InputCall } from "./call.ts";
import { inputOf } from "./input-of.ts";

const registry = new JobRegistry();
registry.register(defineJob("load", { input: z.object({ table: z.string() }) }, () => 1));
registry.register(defineJob("free", () => 1));

const nodes = { a: { jobName: "load" }, b: { jobName: "free" }, c: decision, d: { jobName: "gone" } };

/** The input that the call becomes for an instance of `a>b c d`, whose first task has number 0. */
function inputFor(call: InputCall): Input {
  // Only what survives this can travel.
  const travelled = JSON.parse(JSON.stringify(call)) as InputCall;
  assert.deepEqual(travelled, call);
  return inputOf(travelled, DagRig.started("a>b c d", { nodes }).machine, registry);
}

function refusalOf(call: InputCall): [ErrorCode, string] {
  try {
    inputFor(call);
  } catch (error) {
    assert.ok(error instanceof EngineError);
    return [error.code, error.message];
  }
  throw new Error(`${call.type} was not refused`);
}

describe("a call", () => {
  test("about the whole instance becomes the message that says so", () => {
    assert.deepEqual(inputFor({ type: "PauseInstance", id: "i" }), { type: "PauseInstance" });
    assert.deepEqual(inputFor({ type: "ResumeInstance", id: "i" }), { type: "ResumeInstance" });
    assert.deepEqual(inputFor({ type: "TerminateInstance", id: "i", reason: "enough" }), {
      type: "TerminateInstance",
      reason: "enough",
    });
    assert.deepEqual(inputFor({ type: "RetryInstance", id: "i" }), { type: "RetryInstance" });
    const patch = { set: "1", removed: null };
    assert.deepEqual(inputFor({ type: "UpdateContext", id: "i", patch }), { type: "UpdateContext", patch });
  });

  test("about a task names it, and the message has its number", () => {
    assert.deepEqual(inputFor({ type: "SkipTask", id: "i", task: "b" }), { type: "SkipTask", task: 1 });
    assert.deepEqual(inputFor({ type: "SucceedTask", id: "i", task: "b" }), { type: "SucceedTask", task: 1 });
    assert.deepEqual(inputFor({ type: "SucceedTask", id: "i", task: "b", output: '"x"' }), {
      type: "SucceedTask",
      task: 1,
      output: '"x"',
    });
    assert.deepEqual(inputFor({ type: "RerunInstance", id: "i", task: "a" }), { type: "RerunInstance", task: 0 });
    const node = { nodeId: 9, nodeName: "sub", jobName: "free" };
    assert.deepEqual(inputFor({ type: "AddSubTask", id: "i", parent: "a", node }), {
      type: "AddSubTask",
      parent: 0,
      node,
    });
  });

  test("about a task that is not there is refused, with the name that may have been meant", () => {
    const calls: InputCall[] = [
      { type: "SkipTask", id: "i", task: "aa" },
      { type: "SucceedTask", id: "i", task: "aa" },
      { type: "RerunInstance", id: "i", task: "aa" },
      { type: "UpdateParams", id: "i", task: "aa", params: "1" },
      { type: "AddSubTask", id: "i", parent: "aa", node: { nodeId: 9, nodeName: "sub" } },
    ];
    for (const call of calls) {
      assert.deepEqual(refusalOf(call), ["TASK_UNKNOWN", 'instance "i" has no task "aa"; did you mean "a"?']);
    }
    assert.deepEqual(refusalOf({ type: "SkipTask", id: "i", task: "elsewhere" }), [
      "TASK_UNKNOWN",
      'instance "i" has no task "elsewhere"',
    ]);
  });
});

describe("a call with parameters", () => {
  for (const [call, input] of [
    [
      { type: "RerunInstance", id: "i", task: "a" },
      { type: "RerunInstance", task: 0 },
    ],
    [
      { type: "UpdateParams", id: "i", task: "a" },
      { type: "UpdateParams", task: 0 },
    ],
  ] as const) {
    test(`to ${call.type} has them checked against the job's schema, where the job is`, () => {
      const good = '{"table":"orders"}';
      assert.deepEqual(inputFor({ ...call, params: good }), { ...input, params: good });
      const [code, message] = refusalOf({ ...call, params: '{"table":7}' });
      assert.equal(code, "PARAMS_INVALID");
      assert.match(message, /"a".*"load".*table/s);
    });
  }

  test("may take them away from a task whose job needs none", () => {
    assert.deepEqual(inputFor({ type: "UpdateParams", id: "i", task: "b", params: "" }), {
      type: "UpdateParams",
      task: 1,
      params: "",
    });
    const [code] = refusalOf({ type: "UpdateParams", id: "i", task: "a", params: "" });
    assert.equal(code, "PARAMS_INVALID");
  });

  test("is refused for a task that runs no job, and for one whose job is not here", () => {
    assert.deepEqual(refusalOf({ type: "UpdateParams", id: "i", task: "c", params: "1" }), [
      "TASK_INVALID",
      'task "c" runs no job, so it has no params to update',
    ]);
    const [code, message] = refusalOf({ type: "UpdateParams", id: "i", task: "d", params: "1" });
    assert.equal(code, "JOB_MISSING");
    assert.match(message, /"gone"/);
  });
});
