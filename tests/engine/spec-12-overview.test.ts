/** Spec §10.7, §12, §13: what a server shows of its engine, and what it hears from it. */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, test } from "node:test";
import {
  defineJob,
  defineWorkflow,
  type InstanceChange,
  type JobRun,
  type TaskLogLine,
  Workflow,
} from "../../src/index.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { says, startEngine, task, workflow } from "./rig.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** A job that ends when the test says so. */
function gate(name: string) {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { job: defineJob(name, () => promise), open: () => resolve("opened") };
}

describe("what an engine shows", () => {
  test("is what waits and what runs, with the reason", async (t) => {
    const { job, open } = gate("slow");
    const engine = await startEngine(t, { jobs: [job], poolSize: 1 });
    const first = await engine.submitWorkflow(workflow("two", task("a", "slow"), task("b", "slow")));
    while ((await engine.listQueuedTasks()).length < 2) await new Promise(setImmediate);
    const [waiting, running] = await engine.listQueuedTasks();
    assert.equal(waiting?.state, "waiting");
    assert.match(waiting?.wait?.text ?? "", /slot/);
    assert.deepEqual([running?.state, running?.taskName, running?.nodeId], ["running", "a", 1]);
    assert.equal(running?.instanceId, first.instanceId);
    assert.deepEqual(
      engine.listWorkers().map(({ isRemote, slots, runningTasks }) => ({ isRemote, slots, runningTasks })),
      [{ isRemote: false, slots: 1, runningTasks: 1 }],
    );
    assert.equal(engine.health.oldestRunningAt, running?.since);
    assert.deepEqual(engine.listDomains()[0], { domain: "default", size: 1, priority: 0, running: 1, waiting: 1 });
    open();
    await first.result();
    assert.deepEqual(await engine.listQueuedTasks(), []);
    assert.equal(engine.health.oldestRunningAt, undefined);
  });

  test("are its jobs and workflows", async (t) => {
    const code = defineWorkflow("by-code", async () => 1);
    const engine = await startEngine(t, {
      jobs: [defineJob("work", () => 1)],
      workflows: [workflow("by-dag", task("a", "work")), code],
    });
    const [job] = await engine.listJobs();
    assert.deepEqual([job?.name, job?.isHere, job?.missing], ["work", true, false]);
    assert.deepEqual(
      engine.listWorkflows().map(({ name, kind, version }) => [name, kind, typeof version]),
      [
        ["by-code", "code", "string"],
        ["by-dag", "dag", "string"],
      ],
    );
    assert.equal(engine.findWorkflow("by-code"), code);
    assert.equal(engine.findWorkflow("nobody"), undefined);
  });
});

describe("a DAG that is registered later", () => {
  test("can be scheduled and nested by its name, and replaces the one before", async (t) => {
    const engine = await startEngine(t, { jobs: [defineJob("work", () => 1)] });
    await engine.registerWorkflow(workflow("late", task("a", "work")));
    const before = engine.listWorkflows()[0]?.version;
    await engine.registerWorkflow(workflow("late", task("b", "work")));
    assert.notEqual(engine.listWorkflows()[0]?.version, before);
    await engine.schedules.create("nightly", { workflow: "late", every: { cron: "0 3 * * *", timeZone: "UTC" } });
    const outer = Workflow.fromJSON({ nodes: [{ nodeId: 1, nodeType: 3, workflowName: "late" }] }, { name: "outer" });
    await (await engine.submitWorkflow(outer)).result();
    engine.forgetWorkflow("late");
    assert.deepEqual(engine.listWorkflows(), []);
  });

  test("is known even if it cannot run yet, and says why", async (t) => {
    const engine = await startEngine(t);
    await assert.rejects(
      engine.registerWorkflow(workflow("late", task("a", "work"))),
      says("JOB_MISSING", /job "work"/),
    );
    assert.deepEqual(engine.listWorkflows(), [{ name: "late", version: undefined, kind: "dag", isHere: true }]);
    engine.registerJobFunction("work", () => 1);
    await engine.registerWorkflow(workflow("late", task("a", "work")));
    assert.notEqual(engine.listWorkflows()[0]?.version, undefined);
  });

  test("cannot take the name of code", async (t) => {
    const engine = await startEngine(t, { workflows: [defineWorkflow("taken", async () => 1)] });
    await assert.rejects(
      engine.registerWorkflow(workflow("taken", task("a", "work"))),
      says("WORKFLOW_DUPLICATE", /taken/),
    );
  });
});

describe("draining", () => {
  test("finishes what runs, and starts nothing more", async (t) => {
    const { job, open } = gate("slow");
    const engine = await startEngine(t, { jobs: [job, defineJob("work", () => 1)] });
    const running = await engine.submitWorkflow(
      workflow("one", task("a", "slow"), task("b", "work").withDependency("a")),
    );
    while (engine.health.runningTasks === 0) await new Promise(setImmediate);
    const drained = engine.drain();
    assert.equal(engine.health.status, "draining");
    open();
    await drained;
    assert.equal(engine.health.runningTasks, 0);
    // It is taken, and durable; but nothing of it starts here.
    await engine.submitWorkflow(workflow("two", task("c", "work")));
    const { tasks } = await running.getStatus();
    assert.deepEqual(
      tasks.map(({ status }) => status),
      ["Success", "Pending"],
    );
    assert.match(tasks[1]?.wait?.text ?? "", /drained/);
    await assert.rejects(engine.drain("somebody else"), says("WORKER_UNKNOWN", /somebody else/));
  });
});

describe("whoever listens to an engine", () => {
  test("hears every change with its number, its events and where it came from", async (t) => {
    const engine = await startEngine(t, { jobs: [defineJob("work", () => 1)] });
    const changes: InstanceChange[] = [];
    engine.subscribe((change) => changes.push(change));
    const one = await engine.submitWorkflow(workflow("one", task("a", "work")), { traceparent });
    await one.result();
    assert.deepEqual(
      changes.map(({ turn, status }) => [turn, status]),
      [
        [0, "Running"],
        [1, "Success"],
      ],
    );
    const [first, second] = changes;
    assert.equal(second?.firstEvent, first?.events.length);
    assert.deepEqual([first?.trigger, first?.traceparent, first?.kind], ["api", traceparent, "dag"]);
    const history = await engine.getWorkflowInstanceHistory(one.instanceId);
    assert.deepEqual(
      history.map(({ turn, firstEvent, events }) => ({ turn, firstEvent, events })),
      changes.map(({ turn, firstEvent, events }) => ({
        turn,
        firstEvent,
        events: JSON.parse(JSON.stringify(events)) as unknown,
      })),
    );
  });

  test("hears what jobs log, in the process and in threads", async (t) => {
    const lines: TaskLogLine[] = [];
    const chatty = defineJob("chatty", (_: unknown, { log }) => log.info({ size: 3 }, "said"));
    const engine = await startEngine(t, { jobs: [chatty], onTaskLog: (line) => lines.push(line) });
    const one = await engine.submitWorkflow(workflow("one", task("a", "chatty")));
    await one.result();
    const [{ at, ...line } = { at: 0 }] = lines;
    assert.ok(at > 0);
    assert.deepEqual(line, {
      attemptId: `${one.instanceId}:1:0:1`,
      namespace: "default",
      instanceId: one.instanceId,
      workflowName: "one",
      taskName: "a",
      attempt: 1,
      level: "info",
      message: "said",
      fields: { size: 3 },
    });
  });

  test("may put each job into surroundings of its own", async (t) => {
    const surroundings = new AsyncLocalStorage<JobRun>();
    const seen: unknown[] = [];
    const look = defineJob("look", async (_: unknown, context) => {
      await new Promise(setImmediate);
      seen.push(surroundings.getStore()?.taskName, context.traceparent);
    });
    const child = defineWorkflow("child", (ctx) => ctx.run(look));
    const parent = defineWorkflow("parent", (ctx) => ctx.callChild(child));
    const engine = await startEngine(t, {
      jobs: [look],
      workflows: [parent, child],
      aroundJob: (run, call) => surroundings.run(run, call),
    });
    await (await engine.startWorkflow(parent, undefined, { traceparent })).result();
    assert.deepEqual(seen, ["look", traceparent]);
  });

  test("is told that a run was started by schedule", async (t) => {
    const clock = new TestClock();
    const storage = memoryStore();
    const engine = await startEngine(t, { clock, storage, workflows: [defineWorkflow("short", async () => 1)] });
    const triggers: string[] = [];
    engine.subscribe(({ workflowName, turn, trigger }) => {
      if (workflowName === "short" && turn === 0) triggers.push(trigger);
    });
    await clock.until(engine.schedules.create("s", { workflow: "short", every: { rateMs: 1000 } }));
    await clock.advance(1500);
    assert.deepEqual(triggers, ["schedule"]);
  });
});
