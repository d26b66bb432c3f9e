import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { durationSecondsMax } from "../base/time-limits.ts";
import { defaultRetryPolicy } from "../kernel/retry.ts";
import { defineJob } from "./job.ts";
import { TaskBuilder } from "./task-builder.ts";
import { WorkflowBuilder } from "./workflow-builder.ts";

const extract = defineJob("extract", { input: z.object({ table: z.string(), at: z.date().optional() }) }, () => 1);

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function job(name = "t"): TaskBuilder {
  return new TaskBuilder(name).withJobFunction("run");
}

test("a task has the defaults of the builder", () => {
  const task = job().build();
  assert.match(task.id, uuid);
  assert.equal(task.name, "t");
  assert.equal(task.kind, "job");
  assert.equal(task.jobName, "run");
  assert.equal(task.jobId, undefined);
  assert.equal(task.params, undefined);
  assert.equal(task.status, "Pending");
  assert.equal(task.timeoutSeconds, 30);
  assert.equal(task.retryCount, 0);
  assert.deepEqual(task.retryPolicy, defaultRetryPolicy);
  assert.equal(task.domain, undefined);
  assert.equal(task.skipWhenFailed, false);
  assert.equal(task.enabled, true);
  assert.equal(task.decision, undefined);
  assert.equal(task.nestedWorkflow, undefined);
  assert.deepEqual(task.dependencies, []);
});

test("every setting reaches the task, in any order of calls", () => {
  const calls: ((builder: TaskBuilder) => unknown)[] = [
    (builder) => builder.withJobFunction("run", { n: 1 }),
    (builder) => builder.withTimeout(0.5),
    (builder) => builder.withRetryCount(3),
    (builder) => builder.withRetryPolicy({ initialMs: 10, nonRetryable: ["TypeError"] }),
    (builder) => builder.withDomain("market-data"),
    (builder) => builder.withSkipWhenFailed(),
    (builder) => builder.withEnabled(false),
    (builder) => builder.withDependency("a", { when: true }),
  ];
  for (const order of [calls, calls.toReversed()]) {
    const builder = new TaskBuilder("t");
    for (const call of order) call(builder);
    const { taskId, ...node } = builder.build().toNode(7);
    assert.match(String(taskId), uuid);
    assert.deepEqual(node, {
      nodeId: 7,
      nodeType: 1,
      nodeName: "t",
      jobName: "run",
      nodeParams: '{"n":1}',
      timeoutSeconds: 0.5,
      retryCount: 3,
      retryPolicy: { initialMs: 10, nonRetryable: ["TypeError"] },
      domain: "market-data",
      skipWhenFailed: true,
      enable: false,
    });
    const task = builder.build();
    assert.deepEqual(task.dependencies, [{ name: "a", when: "true" }]);
    assert.deepEqual(task.retryPolicy, { ...defaultRetryPolicy, initialMs: 10, nonRetryable: ["TypeError"] });
  }
});

test("a dependency said twice is one", () => {
  const task = job().withDependencies(["a", "b", "a"]).withDependency("b").withDependency("b", { when: "x" }).build();
  assert.deepEqual(task.dependencies, [{ name: "a" }, { name: "b" }, { name: "b", when: "x" }]);
});

test("decisions and nested workflows are tasks of their own kinds", () => {
  const decision = new TaskBuilder("d").withDecision("context.n > 1").build();
  assert.equal(decision.kind, "decision");
  assert.equal(decision.decision, "context.n > 1");
  assert.equal(decision.params, undefined);

  const byName = new TaskBuilder("n").withNestedWorkflow("inner").build();
  assert.equal(byName.kind, "nested");
  assert.equal(byName.nestedWorkflow, "inner");
  assert.equal(byName.toNode(1).workflowVersion, undefined);

  const inner = new WorkflowBuilder().withName("inner").withTask(job()).build();
  const byObject = new TaskBuilder("n").withNestedWorkflow(inner).build();
  assert.equal(byObject.nestedWorkflow, inner);
  assert.equal(byObject.toNode(1).workflowName, "inner");
  assert.equal(byObject.toNode(1).workflowVersion, inner.version);

  for (const task of [decision, byName]) {
    assert.throws(() => task.updateParams({}), { code: "TASK_INVALID", message: /runs no job/ });
  }
});

test("one builder builds independent tasks", () => {
  const builder = job().withRetryPolicy({ factor: 3 });
  const [first, second] = [builder.build(), builder.build()];
  assert.notEqual(first.id, second.id);
  first.updateParams({ n: 1 });
  assert.equal(second.params, undefined);
  builder.withTimeout(1);
  assert.equal(first.timeoutSeconds, 30);
});

test("settings out of range are refused with task and setting", () => {
  const refuse = (builder: TaskBuilder, message: RegExp) =>
    assert.throws(() => builder.build(), { code: "TASK_INVALID", message });
  const wrong = (value: unknown) => value as never;

  for (const seconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, durationSecondsMax + 1, wrong("5")]) {
    refuse(job().withTimeout(seconds), /^task "t": timeout must be a number of seconds above 0/);
  }
  for (const count of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, wrong("3")]) {
    refuse(job().withRetryCount(count), /^task "t": retry count must be a whole number, at least 0/);
  }
  for (const name of ["", " ", wrong(7), wrong(undefined)]) {
    refuse(new TaskBuilder(name).withJobFunction("run"), /^a task: its name must be text, not blank/);
    refuse(job().withDependency(name), /dependency must be text/);
    refuse(new TaskBuilder("t").withJobFunction(name), /job name must be text/);
    refuse(new TaskBuilder("t").withDecision(name), /decision must be text/);
    refuse(new TaskBuilder("t").withNestedWorkflow(name), /nested workflow must be text/);
  }
  refuse(new TaskBuilder("t").withNestedWorkflow(wrong(null)), /nested workflow must be text/);
  refuse(new TaskBuilder("t").withJobFunction(wrong(() => 1)), /job name must be text, not blank, got a function/);
  refuse(job().withDomain(""), /domain must be text/);
  refuse(job().withEnabled(wrong("no")), /enabled must be true or false, got "no"/);
  refuse(job().withSkipWhenFailed(wrong(1)), /skipWhenFailed must be true or false, got 1/);
  refuse(job().withDependency("a", { when: wrong(5) }), /when must be text/);
});

test("a retry policy is checked field by field", () => {
  const policies: [policy: object | null, message: RegExp][] = [
    [{ initialMs: -1 }, /retry policy's initialMs must be a number, at least 0 and at most 3162240000000, got -1/],
    [{ initialMs: 1e17 }, /initialMs must be a number, at least 0 and at most 3162240000000, got 100000000000000000/],
    [{ factor: 0.5 }, /factor must be a number, at least 1/],
    [{ maxMs: Number.NaN }, /maxMs must be a number, at least 0 and at most 3162240000000, got NaN/],
    [{ jitter: 2 }, /jitter must be a number, at least 0 and at most 1, got 2/],
    [{ nonRetryable: "TypeError" }, /nonRetryable must be a list of texts, got "TypeError"/],
    [{ retryOn: [1] }, /retryOn must be a list of texts, got a list/],
    [null, /retry policy must be an object, got null/],
  ];
  for (const [policy, message] of policies) {
    assert.throws(
      () =>
        job()
          .withRetryPolicy(policy as object)
          .build(),
      { code: "TASK_INVALID", message },
    );
  }
  const withUndefined = { factor: undefined, initialMs: 5 } as object;
  assert.equal(job().withRetryPolicy(withUndefined).build().retryPolicy.factor, defaultRetryPolicy.factor);
});

test("a task does exactly one thing", () => {
  assert.throws(() => new TaskBuilder("t").build(), { code: "TASK_INVALID", message: /"t": nothing to do/ });
  assert.throws(() => job().withDecision("true").build(), { code: "TASK_INVALID", message: /can be only one of/ });
  assert.throws(() => new TaskBuilder("t").withDecision("true").withNestedWorkflow("w").build(), {
    code: "TASK_INVALID",
  });
});

test("params that cannot be written as JSON are refused with their place", () => {
  const refuse = (params: unknown, message: RegExp) =>
    assert.throws(() => job().withJobFunction("run", params).build(), { code: "VALUE_NOT_SERIALIZABLE", message });
  refuse({ rows: [{ total: 1n }] }, /^task "t": params cannot be written as JSON: a BigInt at rows\[0\]\.total/);
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  refuse(circle, /a circle at self/);
});

test("params must fit the job's schema, as the job will see them", () => {
  const refuse = (params: unknown, message: RegExp) =>
    assert.throws(() => new TaskBuilder("t").withJobFunction(extract, params as { table: string }).build(), {
      code: "PARAMS_INVALID",
      message,
    });
  refuse({ table: 1 }, /^task "t": params do not fit job "extract": table: .*string/);
  refuse({ table: "t", at: new Date(0) }, /at: .*date/);

  const task = new TaskBuilder("t").withJobFunction(extract, { table: "t" }).build();
  assert.equal(task.job, extract);
  assert.throws(() => task.updateParams({ table: 1 } as never), { code: "PARAMS_INVALID" });
  assert.deepEqual(task.params, { table: "t" });
});

test("params are a copy, taken when the task is built", () => {
  const params = { list: [1] };
  const task = job().withJobFunction("run", params).build();
  params.list.push(2);
  assert.deepEqual(task.params, { list: [1] });
  task.params.list.push(3);
  assert.deepEqual(task.params, { list: [1] });
  task.updateParams(undefined);
  assert.equal(task.params, undefined);
  assert.ok(!("nodeParams" in task.toNode(1)));
});
