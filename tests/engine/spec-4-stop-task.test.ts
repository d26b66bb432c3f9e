/** Spec §4.9: one task is stopped, and queried. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, StepFailed, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { aborted, Gate, says, startEngine, statuses, task, taskOf, workflow, untilInstance } from "./rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

/** Counts its calls and its aborts, and answers when the gate opens, aborted or not. */
function stubborn(): { job: ReturnType<typeof defineJob>; gate: Gate; calls: number; aborts: number } {
  const parts = { gate: new Gate(), calls: 0, aborts: 0 };
  const job = defineJob("stubborn", async (_: unknown, ctx) => {
    parts.calls++;
    ctx.signal.addEventListener("abort", () => parts.aborts++);
    await parts.gate.opened;
    return "too late";
  });
  return Object.assign(parts, { job });
}

describe("4.9 a task that is stopped", () => {
  test("4.9 gets the abort signal, is Stopped, and its late result counts for nothing", async (t) => {
    const work = stubborn();
    const engine = await startEngine(t, { jobs: [work.job, echo] });
    const run = await engine.submitWorkflow(
      workflow("w", task("a", "stubborn").withRetryCount(3), task("b", "echo").withDependency("a")),
    );
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").status === "Running");
    await engine.stopTask(run.instanceId, "a", { reason: "takes too long" });
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "takes too long"));
    assert.equal(work.aborts, 1);
    work.gate.open();
    assert.deepEqual(await statuses(run), { a: "Stopped", b: "Canceled (upstream-failed)" });
    const { status, failure } = await engine.getTask(run.instanceId, "a");
    assert.deepEqual([status, failure?.type, failure?.message], ["Stopped", "TASK_STOPPED", "takes too long"]);
    await assert.rejects(engine.stopTask(run.instanceId, "a"), says("INSTANCE_STATE", run.instanceId));
    await engine.retryWorkflowInstance(run.instanceId);
    assert.deepEqual(await run.result(), { a: "too late", b: "done" });
    assert.equal(work.calls, 2);
  });

  test("4.9 lets what comes after it go on if its failure may be skipped", async (t) => {
    const work = stubborn();
    const engine = await startEngine(t, { jobs: [work.job, echo] });
    const run = await engine.submitWorkflow(
      workflow("w", task("a", "stubborn").withSkipWhenFailed(true), task("b", "echo").withDependency("a")),
    );
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").status === "Running");
    await engine.stopTask(run.instanceId, "a");
    assert.deepEqual(await run.result(), { b: "done" });
    assert.equal((await run.getStatus()).withSkippedFailures, true);
    work.gate.open();
  });

  test("4.9 never runs if it waits for a slot", async (t) => {
    const work = stubborn();
    const engine = await startEngine(t, { jobs: [work.job], poolSize: 1 });
    const definition = new WorkflowBuilder().withName("w").withFailurePolicy("continue");
    for (const name of ["a", "b"]) definition.withTask(task(name, "stubborn"));
    const run = await engine.submitWorkflow(definition.build());
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").status === "Running");
    assert.match((await engine.getTask(run.instanceId, "b")).wait?.text ?? "", /slot/);
    await engine.stopTask(run.instanceId, "b");
    work.gate.open();
    await assert.rejects(run.result(), says("WORKFLOW_FAILED"));
    assert.deepEqual(await statuses(run), { a: "Success", b: "Stopped" });
    assert.equal(work.calls, 1);
  });

  test("4.9 terminates the instance of its nested workflow, with the reason", async (t) => {
    const work = stubborn();
    const engine = await startEngine(t, { jobs: [work.job] });
    const inner = workflow("inner", task("t", "stubborn"));
    const nested = new TaskBuilder("n").withNestedWorkflow(inner);
    const run = await engine.submitWorkflow(workflow("outer", nested));
    await until(() => work.calls === 1);
    const { childInstanceId = "" } = await engine.getTask(run.instanceId, "n");
    await engine.stopTask(run.instanceId, "n", { reason: "enough" });
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "enough"));
    await assert.rejects(engine.awaitWorkflowInstance(childInstanceId), says("WORKFLOW_TERMINATED", "enough"));
    assert.equal(work.aborts, 1);
    work.gate.open();
  });

  test("4.9 has failed for the code of a code workflow, which does not try it again", async (t) => {
    const work = stubborn();
    const code = defineWorkflow("code", async (ctx) => {
      const calls = [0, 1].map(() => ctx.run(work.job, undefined, { retryCount: 3 }));
      const [first, second] = await Promise.allSettled(calls);
      const error: unknown = first?.status === "rejected" ? first.reason : undefined;
      return [error instanceof StepFailed && error.failure.type, second?.status];
    });
    const engine = await startEngine(t, { jobs: [work.job], workflows: [code] });
    const run = await engine.startWorkflow(code, undefined);
    await until(() => work.calls === 2);
    await assert.rejects(engine.stopTask(run.instanceId, "stubborn"), says("TASK_INVALID", "0, 1"));
    await engine.stopTask(run.instanceId, 0);
    assert.equal((await engine.getTask(run.instanceId, 0)).status, "Stopped");
    await assert.rejects(engine.stopTask(run.instanceId, 0), says("TASK_STATE", "stubborn", "Stopped"));
    work.gate.open();
    assert.deepEqual(await run.result(), ["TASK_STOPPED", "fulfilled"]);
    assert.equal(work.calls, 2);
  });

  test("4.9 is refused unless it is there and under way", async (t) => {
    const work = stubborn();
    const engine = await startEngine(t, { jobs: [work.job, echo] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("e", "echo"),
        task("a", "stubborn").withDependency("e"),
        task("b", "echo").withDependency("a"),
      ),
    );
    const id = run.instanceId;
    await untilInstance(engine, id, (view) => taskOf(view, "a").status === "Running");
    await assert.rejects(engine.stopTask(id, "e"), says("TASK_STATE", '"e"', "Success"));
    await assert.rejects(engine.stopTask(id, "b"), says("TASK_STATE", '"b"', "not started"));
    await assert.rejects(engine.stopTask(id, "x"), says("TASK_UNKNOWN", '"x"', id));
    await assert.rejects(engine.stopTask(id, 9), says("TASK_UNKNOWN", "9", id));
    await assert.rejects(engine.stopTask("nobody", "x"), says("INSTANCE_UNKNOWN", '"nobody"'));
    await assert.rejects(engine.stopTask(id, -1), says("OPTION_INVALID", "-1"));
    await assert.rejects(engine.stopTask(id, "a", { reason: 1 as never }), says("OPTION_INVALID", "reason"));
    await assert.rejects(engine.getTask(id, "x"), says("TASK_UNKNOWN", '"x"', id));
    work.gate.open();
    await run.result();
  });
});

describe("4.9 a task that is queried", () => {
  test("4.9 is shown where the code of its workflow is not registered", async (t) => {
    const file = temporaryFile(t);
    const code = defineWorkflow("code", async (ctx) => {
      await ctx.run(echo, 1);
      await ctx.sleep(1_000_000);
    });
    const before = await startEngine(t, { jobs: [echo], workflows: [code], storage: sqlite(file) });
    const { instanceId } = await before.startWorkflow(code, undefined);
    await untilInstance(before, instanceId, ({ tasks }) => tasks[0]?.status === "Success");
    await before.stop();
    const engine = await startEngine(t, { storage: sqlite(file) });
    assert.equal((await engine.getTask(instanceId, "echo")).status, "Success");
  });

  test("4.9 shows its progress while it runs, and the counts of its sub-tasks", async (t) => {
    const gate = new Gate();
    const progress = defineJob("progress", async (_: unknown, ctx) => {
      ctx.progress(0.25, "a quarter");
      ctx.progress({ done: 3, total: 4, message: "rows" });
      assert.throws(() => ctx.progress(2), says("OPTION_INVALID", "2"));
      assert.throws(() => ctx.progress({ done: 2, total: 1 }), says("OPTION_INVALID", "2"));
      assert.throws(() => ctx.progress({ done: 0, total: 0 }), says("OPTION_INVALID", "0"));
      assert.throws(() => ctx.progress("x" as never), says("OPTION_INVALID", "x"));
      assert.throws(() => ctx.progress({ done: 0, total: 1, message: 1 as never }), says("OPTION_INVALID", "1"));
      for (const name of ["s1", "s2"]) ctx.generateSubTask(task(name, "echo").build());
      await Promise.race([gate.opened, aborted(ctx.signal)]);
      return "done";
    });
    const engine = await startEngine(t, { jobs: [progress, echo] });
    const heard: string[] = [];
    engine.executor.onTaskProgress(({ taskName, attempt, instanceId, progress: { fraction } }) =>
      heard.push(`${taskName} ${attempt} ${instanceId} ${fraction}`),
    );
    const run = await engine.submitWorkflow(workflow("w", task("a", "progress")));
    const view = await untilInstance(engine, run.instanceId, (each) => taskOf(each, "a").status === "Running");
    const running = await engine.getTask(run.instanceId, "a");
    assert.deepEqual(running, {
      ...taskOf(view, "a"),
      progress: { fraction: 0.75, done: 3, total: 4, message: "rows" },
      subTasks: {},
    });
    const [queued] = await engine.listQueuedTasks({ state: "running" });
    assert.deepEqual(queued?.progress, running.progress);
    assert.deepEqual(
      [taskOf(await engine.getWorkflowInstanceStatus(run.instanceId), "a").progress, heard.at(-1)],
      [running.progress, `a 1 ${run.instanceId} 0.75`],
    );
    gate.open();
    await run.result();
    const ended = await engine.getTask(run.instanceId, 0);
    assert.deepEqual([ended.status, ended.progress, ended.subTasks], ["Success", undefined, { Success: 2 }]);
  });
});
