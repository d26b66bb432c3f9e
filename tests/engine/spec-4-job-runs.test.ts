/** Spec §4.9: a registered job is run and scheduled by itself. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob, defineWorkflow, type InstanceFilter, type ScheduleSpec, WorkflowFailed } from "../../src/index.ts";
import { memoryStore } from "../../src/testing.ts";
import { CodeRig } from "./code-rig.ts";
import { Gate, newEngine, says, startEngine, task, workflow } from "./rig.ts";
import { until } from "../support/until.ts";

const double = defineJob("double", { input: z.object({ n: z.number() }) }, ({ n }) => n * 2);
const echo = defineJob("echo", (params: unknown, ctx) => ({ params: params ?? "none", context: ctx.context }));
const hourMs = 3_600_000;

async function versionsOf(
  engine: { listWorkflowInstances(filter: Partial<InstanceFilter>): Promise<{ version: string }[]> },
  name: string,
): Promise<Set<string>> {
  return new Set((await engine.listWorkflowInstances({ workflow: name })).map(({ version }) => version));
}

describe("4.9 a job runs by itself", () => {
  test("4.9 as a durable instance of one task, which is named like the job", async (t) => {
    const engine = await startEngine(t, { jobs: [double] });
    const run = await engine.runJob(double, { n: 21 }, { instanceId: "once" });
    assert.deepEqual(await run.result(), { double: 42 });
    const { workflowName, status, tasks, trigger } = await engine.getWorkflowInstanceStatus("once");
    assert.deepEqual(
      { workflowName, status, trigger },
      { workflowName: "job:double", status: "Success", trigger: "api" },
    );
    assert.deepEqual(
      tasks.map(({ name }) => name),
      ["double"],
    );
    assert.equal(await engine.getTaskOutput("once", "double"), 42);
    const again = await engine.getWorkflowController("once");
    assert.deepEqual(await again.result(), { double: 42 });
  });

  test("4.9 all runs of a job share one definition, whatever their parameters; other options make another", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const given = [1, "text", null, undefined, [1, 2], { a: 1 }, { a: 2 }, "x".repeat(10_000)];
    for (const params of given) {
      const run = await engine.runJob("echo", params);
      assert.deepEqual(await run.result(), { echo: { params: params ?? "none", context: {} } });
    }
    assert.equal((await versionsOf(engine, "job:echo")).size, 1);
    const options = { timeoutSeconds: 5, retryCount: 2, retryPolicy: { initialMs: 1 } };
    for (const params of [1, 2]) await (await engine.runJob("echo", params, options)).result();
    assert.equal((await versionsOf(engine, "job:echo")).size, 2);
  });

  test("4.9 with a context, retries, a timeout and a domain", async (t) => {
    let calls = 0;
    const flaky = defineJob("flaky", () => {
      calls++;
      if (calls < 3) throw new Error("not yet");
      return calls;
    });
    const engine = await startEngine(t, { jobs: [flaky, echo], domains: { mail: { size: 1 } } });
    const run = await engine.runJob(flaky, undefined, { retryCount: 2, retryPolicy: { initialMs: 1, jitter: 0 } });
    assert.deepEqual(await run.result(), { flaky: 3 });
    const second = await engine.runJob("echo", 1, { context: { day: "Monday" }, domain: "mail" });
    assert.deepEqual(await second.result(), { echo: { params: 1, context: { day: "Monday" } } });
    await assert.rejects(engine.runJob("echo", 1, { domain: "male" }), says("DOMAIN_UNKNOWN", '"male"'));
    await assert.rejects(engine.runJob("echo", 1, { timeoutSeconds: -1 }), says("TASK_INVALID", "timeout"));
    calls = 0;
    const failed = await engine.runJob("flaky");
    await assert.rejects(failed.result(), WorkflowFailed);
  });

  test("4.9 an unknown job, parameters that do not fit, misspelt options and ids that are taken are refused", async (t) => {
    const engine = await startEngine(t, { jobs: [double] });
    await assert.rejects(engine.runJob("dubble"), says("JOB_MISSING", '"dubble"', '"double"'));
    await assert.rejects(engine.runJob(echo), says("JOB_MISSING", '"echo"'));
    await assert.rejects(engine.runJob("double", { n: "x" }), says("PARAMS_INVALID", "double", "n:"));
    await assert.rejects(engine.runJob("double", { n: 1n }), says("VALUE_NOT_SERIALIZABLE"));
    await assert.rejects(
      engine.runJob("double", { n: 1 }, { retryCounts: 1 } as object),
      says("OPTION_INVALID", "retryCount"),
    );
    await (await engine.runJob("double", { n: 1 }, { instanceId: "a" })).result();
    await assert.rejects(engine.runJob("double", { n: 1 }, { instanceId: "a" }), says("INSTANCE_EXISTS", '"a"'));
    const reused = await engine.runJob("double", { n: 2 }, { instanceId: "a", reuse: true });
    assert.deepEqual(await reused.result(), { double: 4 });
    assert.deepEqual(await engine.listWorkflowInstances({ workflow: "job:dubble" }), []);
  });

  test("4.9 of two signatures under one name, the parameters choose", async (t) => {
    const texts = defineJob("size", { input: z.string() }, (text) => text.length);
    const lists = defineJob("size", { input: z.array(z.number()) }, (list) => list.length * 100);
    const engine = await startEngine(t, { jobs: [texts, lists] });
    assert.deepEqual(await (await engine.runJob("size", "abc")).result(), { size: 3 });
    assert.deepEqual(await (await engine.runJob("size", [1, 2])).result(), { size: 200 });
    await assert.rejects(engine.runJob("size", true), says("JOB_AMBIGUOUS", '"size"'));
  });

  test("4.9 a restart in the middle goes on with the same parameters, and so does a retry", async () => {
    const storage = memoryStore();
    const held = new Gate();
    const calls: unknown[] = [];
    const first = newEngine({
      storage,
      jobs: [
        defineJob("slow", async (params: unknown, ctx) => {
          calls.push(params);
          await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
          await held.opened;
        }),
      ],
    });
    await first.start();
    await first.runJob("slow", { n: 7 }, { instanceId: "s" });
    await until(() => calls.length === 1);
    await first.stop();
    held.open();
    let isBroken = true;
    const second = newEngine({
      storage,
      jobs: [
        defineJob("slow", (params: unknown) => {
          calls.push(params);
          if (isBroken) throw new Error("broken");
          return "done";
        }),
      ],
    });
    await second.start();
    await assert.rejects(second.awaitWorkflowInstance("s"), WorkflowFailed);
    isBroken = false;
    await second.retryWorkflowInstance("s");
    assert.deepEqual(await second.awaitWorkflowInstance("s"), { slow: "done" });
    assert.deepEqual(calls, [{ n: 7 }, { n: 7 }, { n: 7 }]);
    await second.stop();
  });

  test("4.9 no other workflow may have such a name", async (t) => {
    const engine = await startEngine(t, { jobs: [double] });
    const dag = workflow("job:double", task("t", "double", { n: 1 }));
    const code = defineWorkflow("job:x", async () => 1);
    const refused = says("WORKFLOW_INVALID", '"job:');
    await assert.rejects(engine.submitWorkflow(dag), refused);
    await assert.rejects(engine.checkWorkflow(dag), refused);
    await assert.rejects(engine.registerWorkflow(dag), refused);
    await assert.rejects(engine.registerWorkflow(code), refused);
  });
});

describe("4.9 a job is scheduled by itself", () => {
  const every = { cron: "0 * * * *", timeZone: "UTC" };

  test("4.9 each due time is an instance with the job's parameters, through restarts", async (t) => {
    const rig = await CodeRig.start(t);
    const { clock } = rig;
    await clock.until(rig.engine.schedules.create("hourly", { job: "note", params: "tick", every }));
    await clock.advance(2 * hourMs);
    await rig.away(hourMs / 2);
    await clock.advance(2 * hourMs);
    assert.deepEqual(rig.calls, ["tick", "tick", "tick", "tick"]);
    const runs = await rig.engine.listWorkflowInstances({ workflow: "job:note" });
    assert.deepEqual([runs.length, new Set(runs.map(({ status }) => status))], [4, new Set(["Success"])]);
    assert.ok(runs.every(({ id }) => id.startsWith("hourly/2026-")));
    const { spec, lastError } = await rig.engine.schedules.get("hourly");
    assert.deepEqual([spec, lastError], [{ job: "note", params: "tick", every }, null]);
  });

  test("4.9 it is changed, triggered, and refused where the job or its parameters do not fit", async (t) => {
    const rig = await CodeRig.start(t, { jobs: [double] });
    const { clock, engine } = rig;
    const create = (id: string, spec: object): Promise<void> =>
      clock.until(engine.schedules.create(id, { every, ...spec } as ScheduleSpec));
    await create("s", { job: "double", params: { n: 1 } });
    await assert.rejects(create("x", { job: "dubble" }), says("JOB_MISSING", '"dubble"'));
    await assert.rejects(create("x", { job: "double", params: {} }), says("PARAMS_INVALID", "double"));
    for (const spec of [
      {},
      { job: "double", workflow: "w" },
      { job: "double", input: 1 },
      { workflow: "w", params: 1 },
    ]) {
      await assert.rejects(create("x", spec), says("SCHEDULE_INVALID", "job", "workflow"));
    }
    await clock.until(engine.schedules.change("s", { job: "double", params: { n: 4 }, every }));
    const id = await clock.until(engine.schedules.trigger("s"));
    assert.deepEqual(await clock.until(engine.awaitWorkflowInstance(id)), { double: 8 });
  });

  test("4.9 of a job that was registered a moment ago", async (t) => {
    const rig = await CodeRig.start(t);
    rig.engine.registerJobFunction(double);
    await rig.clock.until(rig.engine.schedules.create("s", { job: "double", params: { n: 1 }, every }));
    await rig.clock.advance(hourMs);
    const [run] = await rig.engine.listWorkflowInstances({ workflow: "job:double" });
    assert.equal(run?.status, "Success");
  });

  test("4.9 a job that is gone after a restart is waited for, and told at a trigger", async (t) => {
    const rig = await CodeRig.start(t, { jobs: [double] });
    const { clock } = rig;
    await clock.until(rig.engine.schedules.create("s", { job: "double", params: { n: 1 }, every }));
    await rig.restart({ jobs: [] });
    await assert.rejects(clock.until(rig.engine.schedules.trigger("s")), says("JOB_MISSING", '"double"'));
    await clock.advance(hourMs);
    assert.deepEqual(await rig.engine.listWorkflowInstances({ workflow: "job:double" }), []);
    rig.engine.registerJobFunction(double);
    await clock.advance(1000);
    const [run] = await rig.engine.listWorkflowInstances({ workflow: "job:double" });
    assert.equal(run?.status, "Success");
  });
});
