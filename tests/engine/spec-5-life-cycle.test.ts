/** Spec §5: life cycle and recovery. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { defineJob, type Engine, EngineError, type Store, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { readTaskAttempts } from "../../src/runtime/task-attempts.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { shards } from "./children/shards.ts";
import {
  aborted,
  Gate,
  newEngine,
  says,
  startEngine,
  statuses,
  task,
  taskOf,
  untilStatus,
  workflow,
  untilInstance,
} from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFile, temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

/** A workflow whose first task waits for the gate. */
async function gated(t: TestContext, options: Partial<ConstructorParameters<typeof Engine>[0]> = {}) {
  const gate = new Gate();
  const wait = defineJob("wait", async (_: unknown, ctx) => {
    await Promise.race([gate.opened, aborted(ctx.signal)]);
    return ctx.signal.aborted ? "stopped" : "waited";
  });
  const engine = await startEngine(t, { jobs: [wait, echo], ...options });
  const run = await engine.submitWorkflow(workflow("w", task("a", "wait"), task("b", "echo").withDependency("a")));
  await untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").status === "Running");
  return { engine, run, gate, id: run.instanceId };
}

describe("5.1 Engine", () => {
  test("5.1 everything but registering is an error before start, and says what to do", async () => {
    const engine = newEngine({ jobs: [echo] });
    engine.registerJobFunction("other", () => 1);
    const notStarted = says("ENGINE_STATE", "not been started", "engine.start()");
    for (const call of calls(engine)) await assert.rejects(call, notStarted);
    await assert.rejects(engine.stop(), says("ENGINE_STATE", "cannot be stopped", "not been started"));
    assert.equal(engine.health.status, "new");
  });

  test("5.1 everything is an error after stop", async () => {
    const engine = newEngine({ jobs: [echo] });
    await engine.start();
    await assert.rejects(engine.start(), says("ENGINE_STATE", "cannot be started", "already"));
    await engine.stop();
    for (const call of calls(engine)) await assert.rejects(call, says("ENGINE_STATE", "stopped", "new Engine"));
    await assert.rejects(engine.start(), says("ENGINE_STATE", "cannot be started", "stopped", "new Engine"));
    await assert.rejects(engine.stop(), says("ENGINE_STATE", "cannot be stopped", "stopped"));
    assert.equal(engine.health.status, "stopped");
  });

  function* calls(engine: Engine): Generator<() => Promise<unknown>> {
    const sub = task("s", "echo").build();
    yield () => engine.submitWorkflow(workflow("w", task("t", "echo")));
    yield () => engine.getWorkflowInstanceStatus("x");
    yield () => engine.getWorkflowInstanceBreakpoint("x");
    yield () => engine.getWorkflowInstanceHistory("x");
    yield () => engine.awaitWorkflowInstance("x");
    yield () => engine.pauseWorkflowInstance("x");
    yield () => engine.resumeWorkflowInstance("x");
    yield () => engine.terminateWorkflowInstance("x");
    yield () => engine.retryWorkflowInstance("x");
    yield () => engine.rerunWorkflowInstance("x", "t");
    yield () => engine.succeedTask("x", "t");
    yield () => engine.skipTask("x", "t");
    yield () => engine.updateContext("x", {});
    yield () => engine.updateTaskParams("x", "t", {});
    yield () => engine.addSubTask("x", sub, "t");
    yield () => engine.listWorkflowInstances();
    yield () => engine.purgeWorkflowInstances({ instanceId: "x" });
  }

  test("5.1 an unknown instance is an error everywhere, which names it", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    for (const call of [...calls(engine)].slice(1)) {
      const outcome = await call().catch((error: unknown) => error);
      if (Array.isArray(outcome)) continue;
      says("INSTANCE_UNKNOWN", '"x"')(outcome);
    }
  });

  test("5.1 stop gives running tasks the signal and keeps their state; who waits hears of it", async (t) => {
    const file = temporaryFile(t);
    const { engine, run, id } = await gated(t, { storage: sqlite(file) });
    const waiting = assert.rejects(run.result(), says("ENGINE_STATE", "stopped"));
    await engine.stop();
    await waiting;
    const after = await startEngine(t, { storage: sqlite(file), jobs: [defineJob("wait", () => "again"), echo] });
    assert.deepEqual(await after.awaitWorkflowInstance(id), { a: "again", b: "done" });
  });

  test("5.1 stop waits for a task that ignores the signal as long as stopGraceMs says, and no longer", async (t) => {
    const deaf = defineJob("deaf", () => new Promise<never>(() => undefined));
    for (const stopGraceMs of [300, 30_000]) {
      const clock = new TestClock();
      const engine = await startEngine(t, { jobs: [deaf], stopGraceMs, clock });
      const run = await engine.submitWorkflow(workflow("w", task("a", "deaf")));
      await clock.until(untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").status === "Running"));
      const before = clock.monotonic();
      await clock.until(engine.stop());
      const tookMs = clock.monotonic() - before;
      assert.ok(tookMs >= stopGraceMs && tookMs < stopGraceMs + 1000, `${stopGraceMs}: ${tookMs}`);
    }
  });

  test("5.1 the controller: instanceId, workflow, getStatus, result, and result again", async (t) => {
    const { engine, run, gate, id } = await gated(t);
    assert.equal(run.instanceId, id);
    assert.equal(run.workflow.name, "w");
    const view = await run.getStatus();
    assert.equal(view.instanceId, id);
    assert.equal(view.workflowName, "w");
    assert.equal(view.status, "Running");
    assert.ok(view.startedAt !== undefined && view.startedAt >= view.createdAt);
    const both = Promise.all([run.result(), engine.awaitWorkflowInstance(id)]);
    gate.open();
    assert.deepEqual(await both, [
      { a: "waited", b: "done" },
      { a: "waited", b: "done" },
    ]);
    assert.deepEqual(await run.result(), { a: "waited", b: "done" });
    const ended = await run.getStatus();
    assert.ok(ended.endedAt !== undefined && ended.endedAt >= (view.startedAt ?? 0));
  });

  test("5.1 a controller can be had again after a restart", async (t) => {
    const storage = memoryStore();
    const wait = defineJob("wait", (_params: undefined, ctx) => aborted(ctx.signal));
    const first = await startEngine(t, { jobs: [wait], storage });
    const { instanceId } = await first.submitWorkflow(workflow("w", task("a", "wait")));
    await first.stop();
    const goOn = defineJob("wait", () => "went on");
    const second = await startEngine(t, { jobs: [goOn], storage });
    const run = await second.getWorkflowController(instanceId);
    assert.deepEqual(await run.result(), { a: "went on" });
    assert.equal(run.workflow.task("a")?.status, "Success");
    await assert.rejects(second.getWorkflowController("nobody"), says("INSTANCE_UNKNOWN", "nobody"));
  });

  test("5.1 listWorkflowInstances: newest first, filtered, paged", async (t) => {
    const { engine, gate, id } = await gated(t);
    for (const name of ["x", "y", "x"]) {
      await (
        await engine.submitWorkflow(workflow(name, task("t", "echo")), { instanceId: `i-${Math.random()}` })
      ).result();
    }
    const all = await engine.listWorkflowInstances();
    assert.deepEqual(
      all.map(({ workflow, status }) => [workflow, status]),
      [
        ["x", "Success"],
        ["y", "Success"],
        ["x", "Success"],
        ["w", "Running"],
      ],
    );
    assert.deepEqual(
      (await engine.listWorkflowInstances({ status: ["Running"] })).map((each) => each.id),
      [id],
    );
    assert.equal((await engine.listWorkflowInstances({ workflow: "x" })).length, 2);
    assert.equal((await engine.listWorkflowInstances({ idPrefix: "i-" })).length, 3);
    const [first, second] = await engine.listWorkflowInstances({ limit: 2 });
    assert.ok(first && second);
    const rest = await engine.listWorkflowInstances({ limit: 2, before: second });
    assert.deepEqual(
      rest.map((each) => each.id),
      all.slice(2).map((each) => each.id),
    );
    gate.open();
  });

  test("5.1 purgeWorkflowInstances: one that ended, by status and time, never one that runs", async (t) => {
    const { engine, run, gate, id } = await gated(t);
    await assert.rejects(
      engine.purgeWorkflowInstances({ instanceId: id }),
      says("INSTANCE_STATE", id, "Running", "terminate it first"),
    );
    gate.open();
    await run.result();
    assert.equal(await engine.purgeWorkflowInstances({ instanceId: id }), 1);
    await assert.rejects(run.getStatus(), says("INSTANCE_UNKNOWN", id));
    for (let i = 0; i < 3; i++) await (await engine.submitWorkflow(workflow("v", task("t", "echo")))).result();
    assert.equal(await engine.purgeWorkflowInstances({ status: "Failed", endedBefore: Date.now() + 1000 }), 0);
    assert.equal(await engine.purgeWorkflowInstances({ status: "Success", endedBefore: Date.now() + 1000 }), 3);
    assert.deepEqual(await engine.listWorkflowInstances(), []);
  });

  test("5.1 subscribe hears of every durable change, of one instance or of all", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const heard: string[] = [];
    const stop = engine.subscribe(({ status, tasks }) => {
      heard.push(`${status} ${tasks.map((each) => each.status).join()}`);
      throw new Error("a bad listener harms nobody");
    });
    await (await engine.submitWorkflow(workflow("w", task("t", "echo")))).result();
    assert.equal(heard[0], "Running Pending");
    assert.equal(heard.at(-1), "Success Success");
    stop();
    const { length } = heard;
    await (await engine.submitWorkflow(workflow("w", task("t", "echo")))).result();
    assert.equal(heard.length, length);
  });
});

describe("5.2 pause, resume, terminate", () => {
  test("5.2 pause: running tasks finish, nothing new starts, then Paused; resume goes on from there", async (t) => {
    const { engine, run, gate, id } = await gated(t);
    await run.pause();
    const pausing = await run.getStatus();
    assert.equal(pausing.status, "Running");
    assert.equal(pausing.pausing, true);
    await assert.rejects(run.pause(), says("INSTANCE_STATE", id, "pause", "Running and already pausing"));
    gate.open();
    const paused = await untilStatus(engine, id, "Paused");
    assert.equal(paused.pausing, false);
    assert.deepEqual(await statuses(run), { a: "Success", b: "Pending" });
    assert.match(taskOf(paused, "b").wait?.text ?? "", /resumed/);
    await assert.rejects(run.pause(), says("INSTANCE_STATE", id, "pause", "Paused"));
    await run.resume();
    assert.deepEqual(await run.result(), { a: "waited", b: "done" });
    await assert.rejects(run.resume(), says("INSTANCE_STATE", id, "resume", "Success"));
    await assert.rejects(run.pause(), says("INSTANCE_STATE", id, "pause", "Success"));
    await assert.rejects(run.terminate(), says("INSTANCE_STATE", id, "terminate", "Success"));
  });

  test("5.2 resume while pausing takes the pause back", async (t) => {
    const { run, gate } = await gated(t);
    await run.pause();
    await run.resume();
    assert.equal((await run.getStatus()).pausing, false);
    await assert.rejects(run.resume(), says("INSTANCE_STATE", "resume", "Running"));
    gate.open();
    assert.deepEqual(await run.result(), { a: "waited", b: "done" });
  });

  test("5.2 retry waits that come due while paused stay untilInstance resume", async (t) => {
    const clock = new TestClock();
    const attempts: number[] = [];
    const flaky = defineJob("flaky", (_: unknown, ctx) => {
      attempts.push(ctx.attempt);
      if (ctx.attempt === 1) throw new Error("first");
    });
    const engine = await startEngine(t, { jobs: [flaky], clock, storage: memoryStore() });
    const run = await engine.submitWorkflow(
      workflow("w", task("t", "flaky").withRetryCount(1).withRetryPolicy({ initialMs: 1000 })),
    );
    await clock.settle();
    await run.pause();
    assert.equal((await run.getStatus()).status, "Paused");
    await clock.advance(60_000);
    assert.deepEqual(attempts, [1]);
    await run.resume();
    await run.result();
    assert.deepEqual(attempts, [1, 2]);
  });

  test("5.2 an instance timeout keeps counting while paused", async (t) => {
    const clock = new TestClock();
    const engine = await startEngine(t, { jobs: [echo], clock, storage: memoryStore() });
    const gate = new Gate();
    engine.registerJobFunction("wait", () => gate.opened);
    const run = await engine.submitWorkflow(
      new WorkflowBuilder()
        .withName("w")
        .withTimeout(100)
        .withTask(task("a", "wait"))
        .withTask(task("b", "echo").withDependency("a"))
        .build(),
    );
    await clock.settle();
    await run.pause();
    gate.open();
    await clock.settle();
    assert.equal((await run.getStatus()).status, "Paused");
    await clock.advance(101_000);
    assert.equal((await run.getStatus()).status, "Failed");
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "timeout of 100 s"));
  });

  test("5.2 terminate: running tasks are aborted, the reason is stored, result() says it", async (t) => {
    const { run, id } = await gated(t);
    await run.terminate("wrong day");
    const view = await run.getStatus();
    assert.equal(view.status, "Terminated");
    assert.equal(view.reason, "wrong day");
    assert.deepEqual(await statuses(run), { a: "Stopped", b: "Canceled (instance-ended)" });
    await assert.rejects(run.result(), says("WORKFLOW_TERMINATED", id, "wrong day"));
    await assert.rejects(run.terminate("again"), says("INSTANCE_STATE", id, "terminate", "Terminated"));
  });

  test("5.2 a paused instance can be terminated, and stays paused over a restart", async (t) => {
    const file = temporaryFile(t);
    const { engine, run, gate, id } = await gated(t, { storage: sqlite(file) });
    await run.pause();
    gate.open();
    await untilStatus(engine, id, "Paused");
    await engine.stop();
    const after = await startEngine(t, { storage: sqlite(file), jobs: [echo, defineJob("wait", () => "again")] });
    assert.equal((await after.getWorkflowInstanceStatus(id)).status, "Paused");
    await after.terminateWorkflowInstance(id, "enough");
    assert.equal((await after.getWorkflowInstanceStatus(id)).reason, "enough");
  });

  test("5.2 pause, resume and terminate reach nested children", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", async (_: unknown, ctx) => {
      await Promise.race([gate.opened, aborted(ctx.signal)]);
      return ctx.signal.aborted;
    });
    const engine = await startEngine(t, { jobs: [wait, echo] });
    const inner = workflow("inner", task("t", "wait"), task("u", "echo").withDependency("t"));
    const outer = workflow("outer", new TaskBuilder("n").withNestedWorkflow(inner));
    const start = async () => {
      const run = await engine.submitWorkflow(outer);
      const child = `${run.instanceId}/n`;
      await untilInstance(engine, run.instanceId, (view) => taskOf(view, "n").childInstanceId === child);
      await until(() => engine.health.runningTasks === 1);
      return { run, child };
    };
    const first = await start();
    await first.run.pause();
    await untilInstance(engine, first.child, ({ pausing }) => pausing);
    gate.open();
    await untilStatus(engine, first.child, "Paused");
    await untilStatus(engine, first.run.instanceId, "Paused");
    await first.run.resume();
    assert.deepEqual(await first.run.result(), { n: { t: false, u: "done" } });
  });

  test("5.2 terminate reaches a child and its running task", async (t) => {
    const stopped: boolean[] = [];
    const wait = defineJob("wait", async (_: unknown, ctx) => {
      await aborted(ctx.signal);
      stopped.push(true);
    });
    const engine = await startEngine(t, { jobs: [wait] });
    const inner = workflow("inner", task("t", "wait"));
    const run = await engine.submitWorkflow(workflow("outer", new TaskBuilder("n").withNestedWorkflow(inner)));
    await until(() => engine.health.runningTasks === 1);
    await run.terminate("all of it");
    const child = await untilStatus(engine, `${run.instanceId}/n`, "Terminated");
    assert.equal(child.reason, "all of it");
    await until(() => stopped.length === 1);
    assert.equal(engine.health.runningTasks, 0);
  });
});

test("5.3 the breakpoint is readable at any time: tasks, DAG, context, last update, time spent", async (t) => {
  const { engine, run, gate, id } = await gated(t);
  const during = await engine.getWorkflowInstanceBreakpoint(id);
  assert.equal(during.status, "Running");
  assert.deepEqual(during.completedTasks, []);
  assert.deepEqual(during.runningTasks, ["a"]);
  assert.deepEqual(during.dag.nodes, [
    { name: "a", status: "Running", inDegree: 0 },
    { name: "b", status: "Pending", inDegree: 1 },
  ]);
  assert.deepEqual(during.dag.edges, [{ from: "a", to: "b", isOff: false }]);
  assert.ok(during.updatedAt <= Date.now() && during.updatedAt > Date.now() - 60_000);
  await engine.updateContext(id, { by: "hand" });
  gate.open();
  await run.result();
  const after = await engine.getWorkflowInstanceBreakpoint(id);
  assert.deepEqual(after.completedTasks, ["a", "b"]);
  assert.deepEqual(after.runningTasks, []);
  assert.deepEqual(
    after.dag.nodes.map(({ inDegree }) => inDegree),
    [0, 0],
  );
  assert.deepEqual(after.context, { by: "hand" });
  assert.ok(after.spentMs >= during.spentMs);
  assert.equal((await engine.getWorkflowInstanceBreakpoint(id)).spentMs, after.spentMs);
});

describe("5.4 recovery", () => {
  test("5.4 killed at any moment: every accepted instance goes on by itself, no completed task runs again", async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, "heddle.db");
    const log = join(folder, "calls.log");
    writeFileSync(log, "");
    const program = fileURLToPath(new URL("./children/engine-process.ts", import.meta.url));
    const child = spawn(process.execPath, [program, file, log, "40"], { stdio: ["pipe", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const accepted: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      accepted.push(line);
      if (accepted.length === 25) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");

    const completed = await completedTasks(file);
    const callsBefore = readFileSync(log, "utf8").split("\n");
    const calls: string[] = [];
    const work = defineJob("work", (ms: number, ctx) => {
      calls.push(`${ctx.instanceId} ${ctx.taskName}`);
      return ms;
    });
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [work] });
    for (const id of accepted) {
      assert.deepEqual(await engine.awaitWorkflowInstance(id), {
        begin: 1,
        ...Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`shard${i}`, i * 3])),
        end: 1,
      });
    }
    assert.ok(accepted.length >= 25 && callsBefore.length > 1);
    assert.deepEqual(
      calls.filter((call) => completed.has(call)),
      [],
    );
    assert.equal(shards.tasks.size, 7);
  });

  /** As the store has it after the crash. */
  async function completedTasks(file: string): Promise<Set<string>> {
    const store = sqlite(file);
    await store.open();
    const completed = new Set<string>();
    for (const instance of await store.listInstances({ limit: 1000 })) {
      for (const { name, status } of await readTaskAttempts(store, instance)) {
        if (status === "Success") completed.add(`${instance.id} ${name}`);
      }
    }
    await store.close();
    return completed;
  }

  test("5.4 messages to one instance are handled in order of arrival", async (t) => {
    const { engine, run, gate, id } = await gated(t);
    await Promise.all(Array.from({ length: 50 }, (_, n) => engine.updateContext(id, { n })));
    assert.deepEqual((await engine.getWorkflowInstanceBreakpoint(id)).context, { n: 49 });
    const history = await engine.getWorkflowInstanceHistory(id);
    const patched = history.flatMap(({ events }) => events.filter(({ type }) => type === "ContextPatched"));
    assert.deepEqual(
      patched.map((event) => event.type === "ContextPatched" && event.patch["n"]),
      Array.from({ length: 50 }, (_, n) => String(n)),
    );
    gate.open();
    await run.result();
  });
});

test("5.5 a store that fails: no new work is taken, health and log say so, and it goes on when the store is back", async (t) => {
  const clock = new TestClock();
  const logger = new LogBook();
  let broken = false;
  const store = memoryStore();
  const storage = new Proxy(store, {
    get(target, name: keyof Store) {
      if (typeof target[name] !== "function") return target[name];
      const member = target[name] as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        if (broken && name === "commit") throw new EngineError("STORE_UNAVAILABLE", "The disk is gone for a while.");
        return await member.apply(target, args);
      };
    },
  });
  const gate = new Gate();
  const wait = defineJob("wait", () => gate.opened);
  const engine = await startEngine(t, { jobs: [wait, echo], storage, clock, logger });
  const run = await engine.submitWorkflow(workflow("w", task("a", "wait"), task("b", "echo").withDependency("a")));
  await clock.settle();
  broken = true;
  gate.open();
  await clock.advance(10_000);
  assert.equal(engine.health.status, "degraded");
  assert.match(engine.health.problem ?? "", /disk is gone/);
  assert.ok(logger.find("error", /does not take writes/));
  await assert.rejects(
    engine.submitWorkflow(workflow("x", task("t", "echo"))),
    says("STORE_UNAVAILABLE", "no new work", "disk is gone"),
  );
  broken = false;
  await clock.until(run.result());
  assert.equal(engine.health.status, "up");
  assert.equal(engine.health.problem, undefined);
  assert.deepEqual(await clock.until((await engine.submitWorkflow(workflow("x", task("t", "echo")))).result()), {
    t: "done",
  });
});

test("5.6 idle instances leave memory and come back on the next message", async (t) => {
  const clock = new TestClock();
  const gate = new Gate();
  const wait = defineJob("wait", () => gate.opened);
  const engine = await startEngine(t, { jobs: [wait, echo], clock, storage: memoryStore() });
  const run = await engine.submitWorkflow(workflow("w", task("a", "wait"), task("b", "echo").withDependency("a")));
  await clock.settle();
  await run.pause();
  gate.open();
  await clock.advance(29 * 60_000);
  assert.equal(engine.health.instancesInMemory, 1);
  await clock.advance(3 * 60_000);
  assert.equal(engine.health.instancesInMemory, 0);
  assert.equal(engine.health.unfinishedInstances, 1);
  assert.equal(run.workflow.task("a")?.status, "Success");
  await run.resume();
  assert.deepEqual(await run.result(), { b: "done" });
});

test("5.7 stuck instances are found and reported", async (t) => {
  const clock = new TestClock();
  const logger = new LogBook();
  const never = defineJob("never", () => new Promise<never>(() => undefined));
  const engine = await startEngine(t, { jobs: [never], clock, logger, storage: memoryStore() });
  const run = await engine.submitWorkflow(workflow("w", task("t", "never").withTimeout(100_000)));
  await clock.advance(59 * 60_000);
  assert.deepEqual(engine.health.stuckInstances, []);
  await clock.advance(3 * 60_000);
  assert.deepEqual(engine.health.stuckInstances, [run.instanceId]);
  assert.equal(logger.find("warn", /no progress/)?.fields["instanceId"], run.instanceId);
  await run.terminate("give up");
  await clock.settle();
  assert.deepEqual(engine.health.stuckInstances, []);
});
