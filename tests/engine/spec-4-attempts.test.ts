/** Spec §4.3–§4.8: attempts: timeouts, retries, losses, isolation, slots, delivery. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob, defineWorkflow, type Engine, Workflow, WorkflowFailed } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import {
  aborted,
  Gate,
  says,
  startEngine,
  statuses,
  stillWorks,
  task,
  taskOf,
  workflow,
  untilInstance,
} from "./rig.ts";
import { exit, listen, spin, throwText, where } from "./thread-jobs.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

function noSlotLeaked(engine: Engine): void {
  assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 0, size: engine.executor.poolSize });
  assert.equal(engine.health.runningTasks, 0);
}

describe("4.3 timeouts", () => {
  test("4.3 the task gets the signal, is TimeoutFailed, and its late result is ignored", async (t) => {
    const late = new Gate();
    const reasons: unknown[] = [];
    const slow = defineJob("slow", async (_: unknown, ctx) => {
      await aborted(ctx.signal);
      reasons.push(ctx.signal.reason);
      await late.opened;
      ctx.patchContext({ tooLate: true });
      return "too late";
    });
    const engine = await startEngine(t, { jobs: [slow] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "slow").withTimeout(0.02)));
    const error = await run.result().catch((error: unknown) => error);
    assert.ok(error instanceof WorkflowFailed);
    assert.equal(error.failedTasks[0]?.status, "TimeoutFailed");
    assert.equal(error.failedTasks[0]?.failure?.type, "TASK_TIMEOUT");
    says("WORKFLOW_FAILED", '"t"', '"w"', "0.02 s")(error);
    says("TASK_TIMEOUT", '"t"')(reasons[0]);
    const { droppedReports } = engine.health;
    late.open();
    await until(() => engine.health.droppedReports === droppedReports + 1);
    assert.deepEqual(await statuses(run), { t: "TimeoutFailed" });
    assert.deepEqual((await engine.getWorkflowInstanceBreakpoint(run.instanceId)).context, {});
    noSlotLeaked(engine);
  });

  test("4.3 there is one timeout per attempt", async (t) => {
    const slowOnce = defineJob("slowOnce", async (_: unknown, ctx) => {
      if (ctx.attempt === 1) await aborted(ctx.signal);
      return ctx.attempt;
    });
    const engine = await startEngine(t, { jobs: [slowOnce] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "slowOnce").withTimeout(0.02).withRetryCount(1)));
    assert.deepEqual(await run.result(), { t: 2 });
  });

  test("4.3 the wait for a slot does not count", async (t) => {
    const clock = new TestClock();
    const gate = new Gate();
    const hold = defineJob("hold", () => gate.opened);
    const engine = await startEngine(t, { jobs: [hold, echo], poolSize: 1, clock, storage: memoryStore() });
    const first = await engine.submitWorkflow(workflow("w1", task("t", "hold").withTimeout(1000)));
    await until(() => engine.health.runningTasks === 1);
    const second = await engine.submitWorkflow(workflow("w2", task("t", "echo").withTimeout(1)));
    await clock.advance(5000);
    gate.open();
    await first.result();
    assert.deepEqual(await second.result(), { t: "done" });
  });
});

describe("4.4 retry", () => {
  test("4.4 failures and timeouts are retried, at most the configured count", async (t) => {
    const attempts: number[] = [];
    const fail = defineJob("fail", (_: unknown, ctx) => {
      attempts.push(ctx.attempt);
      throw new Error("always");
    });
    const engine = await startEngine(t, { jobs: [fail] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "fail").withRetryCount(2)));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', "always"));
    assert.deepEqual(attempts, [1, 2, 3]);
  });

  test("4.4 the failure of every attempt is in the history, with its stack", async (t) => {
    const clock = new TestClock();
    let calls = 0;
    const fail = defineJob("fail", () => {
      throw new Error(`failure ${++calls}`, { cause: new Error("deep down") });
    });
    const engine = await startEngine(t, { jobs: [fail], clock, storage: memoryStore() });
    const run = await engine.submitWorkflow(workflow("w", task("t", "fail").withRetryCount(2)));
    await clock.until(assert.rejects(run.result()));
    const history = await engine.getWorkflowInstanceHistory(run.instanceId);
    const failures = history.flatMap(({ events }) =>
      events.flatMap((event) => (event.type === "TaskFailed" ? event.failure : [])),
    );
    assert.deepEqual(
      failures.map(({ message }) => message),
      ["failure 1", "failure 2", "failure 3"],
    );
    for (const { stack = "", cause } of failures) {
      assert.match(stack, /^ {4}at .*spec-4-attempts\.test\.ts/);
      assert.ok(stack.length <= 4096);
      assert.match(cause?.stack ?? "", /spec-4-attempts/);
    }
  });

  test("4.4 waits 1 s, 2 s, 4 s … by default, shown as Pending with the time of the next attempt", async (t) => {
    const clock = new TestClock();
    const starts: number[] = [];
    const fail = defineJob("fail", () => {
      starts.push(clock.now());
      throw new Error("always");
    });
    const engine = await startEngine(t, { jobs: [fail], clock, storage: memoryStore() });
    const definition = workflow("w", task("t", "fail").withRetryPolicy({}).withRetryCount(3));
    const run = await engine.submitWorkflow(definition);
    await clock.settle();
    const waiting = taskOf(await run.getStatus(), "t");
    assert.equal(waiting.status, "Pending");
    assert.equal(waiting.retryAt, (starts[0] ?? 0) + 1000);
    assert.match(waiting.wait?.text ?? "", /next attempt at 20/);
    await clock.until(assert.rejects(run.result()));
    assert.deepEqual(
      starts.map((at) => at - (starts[0] ?? 0)),
      [0, 1000, 3000, 7000],
    );
  });

  test("4.4 the policy: initial, factor, max, non-retryable names", async (t) => {
    const clock = new TestClock();
    const starts: number[] = [];
    const fail = defineJob("fail", (name: string) => {
      starts.push(clock.now());
      throw Object.assign(new Error("no"), { name });
    });
    const engine = await startEngine(t, { jobs: [fail], clock, storage: memoryStore() });
    const policy = { initialMs: 10, factor: 10, maxMs: 300, nonRetryable: ["BadData"] };
    const start = async (name: string) =>
      await engine.submitWorkflow(workflow("w", task("t", "fail", name).withRetryCount(3).withRetryPolicy(policy)));
    const run = await start("Error");
    await clock.until(assert.rejects(run.result()));
    assert.deepEqual(
      starts.map((at) => at - (starts[0] ?? 0)),
      [0, 10, 110, 410],
    );
    starts.length = 0;
    await clock.until(assert.rejects((await start("BadData")).result()));
    assert.equal(starts.length, 1);
  });

  test("4.3 an attempt whose task does not say may take as long as the engine says", async (t) => {
    const clock = new TestClock();
    const hang = defineJob("hang", (_, { signal }) => aborted(signal));
    const code = defineWorkflow("code", (ctx) => ctx.run(hang));
    const options = { jobs: [hang], workflows: [code], clock, storage: memoryStore(), defaultTimeoutSeconds: 7 };
    const engine = await startEngine(t, options);
    const fromFile = Workflow.fromJSON({ nodes: [{ nodeId: 1, nodeName: "a", jobName: "hang" }] }, { name: "file" });
    const expired = { message: /ran longer than its timeout of 7 s/ };
    await clock.until(assert.rejects((await engine.submitWorkflow(fromFile)).result(), expired));
    await clock.until(assert.rejects((await engine.startWorkflow(code, undefined)).result(), expired));
    const built = workflow("w", task("a", "hang"));
    await clock.until(assert.rejects((await engine.submitWorkflow(built)).result(), expired));
    const again = Workflow.fromJSON(JSON.parse(JSON.stringify(built)));
    await clock.until(assert.rejects((await engine.submitWorkflow(again)).result(), expired));
    await clock.until(assert.rejects((await engine.runJob("hang")).result(), expired));
    await clock.until(assert.rejects(engine.executor.submitTask(task("a", "hang").build()), expired));
    const own = workflow("own", task("a", "hang").withTimeout(30));
    const ownTimeout = { message: /ran longer than its timeout of 30 s/ };
    await clock.until(assert.rejects((await engine.submitWorkflow(own)).result(), ownTimeout));
  });

  test("4.3 without such a setting, tasks of builders have 30 seconds, and nodes of files and activities an hour", async (t) => {
    const clock = new TestClock();
    const hang = defineJob("hang", (_, { signal }) => aborted(signal));
    const code = defineWorkflow("code", (ctx) => ctx.run(hang));
    const engine = await startEngine(t, { jobs: [hang], workflows: [code], clock, storage: memoryStore() });
    const halfMinute = { message: /ran longer than its timeout of 30 s/ };
    const hour = { message: /ran longer than its timeout of 3600 s/ };
    const built = workflow("w", task("a", "hang"));
    const again = Workflow.fromJSON(JSON.parse(JSON.stringify(built)));
    for (const each of [built, again]) {
      await clock.until(assert.rejects((await engine.submitWorkflow(each)).result(), halfMinute));
    }
    await clock.until(assert.rejects(engine.executor.submitTask(task("a", "hang").build()), halfMinute));
    const fromFile = Workflow.fromJSON({ nodes: [{ nodeId: 1, nodeName: "a", jobName: "hang" }] }, { name: "file" });
    await clock.until(assert.rejects((await engine.submitWorkflow(fromFile)).result(), hour));
    await clock.until(assert.rejects((await engine.startWorkflow(code, undefined)).result(), hour));
  });

  test("4.4 retryOn: only these are retried, in a DAG and in code, from a builder and from a file", async (t) => {
    const starts: string[] = [];
    const fail = defineJob("fail", (name: string) => {
      starts.push(name);
      throw Object.assign(new Error("no"), { name });
    });
    const retryPolicy = { initialMs: 1, retryOn: ["Busy"] };
    const code = defineWorkflow("code", (ctx, name: string) => ctx.run(fail, name, { retryCount: 2, retryPolicy }));
    const engine = await startEngine(t, { jobs: [fail], workflows: [code] });
    const built = (name: string): Workflow =>
      workflow("w", task("t", "fail", name).withRetryCount(2).withRetryPolicy(retryPolicy));
    for (const [name, times] of [
      ["Busy", 3],
      ["Broken", 1],
    ] as const) {
      for (const dag of [built(name), Workflow.fromJSON(JSON.parse(JSON.stringify(built(name))))]) {
        starts.length = 0;
        await assert.rejects((await engine.submitWorkflow(dag)).result());
        assert.equal(starts.length, times);
      }
      starts.length = 0;
      await assert.rejects((await engine.startWorkflow(code, name)).result());
      assert.equal(starts.length, times);
    }
  });

  test("4.4 jitter adds at most its part of the wait", async (t) => {
    const clock = new TestClock();
    const fail = defineJob("fail", () => {
      throw new Error("no");
    });
    const engine = await startEngine(t, { jobs: [fail], clock, storage: memoryStore() });
    const waits = [];
    for (let i = 0; i < 20; i++) {
      const run = await engine.submitWorkflow(
        workflow("w", task("t", "fail").withRetryCount(1).withRetryPolicy({ initialMs: 1000, jitter: 0.5 })),
      );
      await clock.settle();
      waits.push((taskOf(await run.getStatus(), "t").retryAt ?? 0) - clock.now());
    }
    assert.ok(
      waits.every((wait) => wait >= 1000 && wait <= 1500),
      waits.join(),
    );
    assert.ok(new Set(waits).size > 1);
  });

  test("4.4 the wait survives a restart: it neither restarts from zero nor fires early", async (t) => {
    const clock = new TestClock();
    const storage = memoryStore();
    const starts: number[] = [];
    const flaky = defineJob("flaky", (_: unknown, ctx) => {
      starts.push(clock.now());
      if (ctx.attempt === 1) throw new Error("first");
      return "ok";
    });
    const options = { jobs: [flaky], clock, storage };
    const before = await startEngine(t, options);
    const run = await before.submitWorkflow(
      workflow("w", task("t", "flaky").withRetryCount(1).withRetryPolicy({ initialMs: 60_000 })),
    );
    await clock.advance(20_000);
    await clock.until(before.stop());
    await clock.advance(20_000);
    const engine = await startEngine(t, options);
    await clock.advance(19_900);
    assert.equal(starts.length, 1);
    await clock.advance(200);
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { t: "ok" });
    assert.ok((starts[1] ?? 0) - (starts[0] ?? 0) >= 60_000);
    assert.ok((starts[1] ?? 0) - (starts[0] ?? 0) < 60_200);
  });
});

describe("4.5 attempts lost with their process", () => {
  test("4.5 an orderly stop is free, however often", async (t) => {
    const file = temporaryFile(t);
    let id = "";
    const attempts: unknown[] = [];
    for (let round = 0; round < 5; round++) {
      const wait = defineJob("wait", async (_: unknown, ctx) => {
        attempts.push([ctx.attempt, ctx.attemptId]);
        if (round < 4) await aborted(ctx.signal);
        return "done at last";
      });
      const engine = await startEngine(t, { jobs: [wait], storage: sqlite(file) });
      if (id === "") id = (await engine.submitWorkflow(workflow("w", task("t", "wait")))).instanceId;
      await until(() => attempts.length === round + 1);
      if (round === 4) assert.deepEqual(await engine.awaitWorkflowInstance(id), { t: "done at last" });
      await engine.stop();
    }
    assert.equal(new Set(attempts.map((each) => JSON.stringify(each))).size, 1);
  });

  test("4.5 a thread that dies takes its attempt with it: it runs again, 3 times, then fails as worker lost", async (t) => {
    const engine = await startEngine(t, { jobs: [exit] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "exit")));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', "worker lost", "4 times"));
    assert.equal(taskOf(await run.getStatus(), "t").failure?.type, "TASK_LOST");
    await stillWorks(engine);
    noSlotLeaked(engine);
  });

  test("4.5 maxInterruptions is configurable", async (t) => {
    const engine = await startEngine(t, { jobs: [exit], maxInterruptions: 0 });
    const run = await engine.submitWorkflow(workflow("w", task("t", "exit")));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "worker lost"));
  });
});

describe("4.6 isolation", () => {
  test("4.6 a thread that spins is really killed on timeout, and its slot comes back", async (t) => {
    const engine = await startEngine(t, { jobs: [spin, echo], poolSize: 1 });
    const run = await engine.submitWorkflow(workflow("w", task("t", "spin").withTimeout(0.05)));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', "0.05 s"));
    assert.deepEqual(await statuses(run), { t: "TimeoutFailed" });
    await stillWorks(engine);
    noSlotLeaked(engine);
    await until(() => engine.health.droppedReports === 1);
  });

  test("4.6 terminating a spinning thread kills it too", async (t) => {
    const engine = await startEngine(t, { jobs: [spin, echo], poolSize: 1 });
    const run = await engine.submitWorkflow(workflow("w", task("t", "spin")));
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "t").status === "Running");
    await run.terminate("enough");
    await stillWorks(engine);
    assert.deepEqual(await statuses(run), { t: "Stopped" });
  });

  test("4.6 stop() ends a spinning thread", async (t) => {
    const engine = await startEngine(t, { jobs: [spin], stopGraceMs: 50 });
    const run = await engine.submitWorkflow(workflow("w", task("t", "spin")));
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "t").status === "Running");
    await engine.stop();
  });

  test("4.6 a job in a thread has the same context: params, outputs, log, patch, sub-tasks, signal", async (t) => {
    const logger = new LogBook();
    const engine = await startEngine(t, { jobs: [where, listen, echo], logger });
    const run = await engine.submitWorkflow(
      workflow("w", task("first", "echo", 1), task("t", "where", { a: 1 }).withDependency("first")),
      { params: { ["__proto__"]: 1, plain: 2 } },
    );
    const outputs = await run.result();
    assert.deepEqual(outputs["t"], {
      params: { a: 1 },
      isMainThread: false,
      outputs: { first: 1 },
      context: { ["__proto__"]: 1, plain: 2 },
    });
    assert.equal(outputs["sub"], "from a thread");
    assert.equal((await engine.getWorkflowInstanceBreakpoint(run.instanceId)).context["patched"], true);
    assert.equal(logger.find("info", /in a thread/)?.fields["taskName"], "t");
    const listening = await engine.submitWorkflow(workflow("w2", task("t", "listen").withTimeout(0.2)));
    await assert.rejects(listening.result());
    await until(() => engine.health.droppedReports === 1);
  });

  test("4.6 failures cross from the thread", async (t) => {
    const engine = await startEngine(t, { jobs: [throwText] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "throwText")));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', "a text"));
  });

  test("4.6 a thread job must say where it is found", () => {
    assert.throws(
      () => defineJob("j", { isolation: "thread" }, () => 1),
      says("JOB_INVALID", '"j"', "thread", "import.meta.url"),
    );
    assert.throws(
      () => defineJob("j", { isolation: "container" as "thread" }, () => 1),
      says("JOB_INVALID", '"j"', '"inline", "thread" or "process"', '"container"'),
    );
  });

  test("4.6 a module or export that is not there fails the task, saying which", async (t) => {
    const lost = defineJob(
      "lost",
      { isolation: "thread", source: { module: "/no/such/file.js", export: "x" } },
      () => 1,
    );
    const unnamed = defineJob(
      "unnamed",
      { isolation: "thread", source: { module: new URL("./thread-jobs.ts", import.meta.url).href, export: "nothing" } },
      () => 1,
    );
    const engine = await startEngine(t, { jobs: [lost, unnamed] });
    const first = await engine.submitWorkflow(workflow("w", task("t", "lost")));
    await assert.rejects(first.result(), says("WORKFLOW_FAILED", '"t"', "/no/such/file.js"));
    const second = await engine.submitWorkflow(workflow("w", task("t", "unnamed")));
    await assert.rejects(second.result(), says("WORKFLOW_FAILED", '"t"', "thread-jobs.ts", '"nothing"'));
  });
});

describe("4.7 slots", () => {
  test("4.7 a slot comes back on every way a task can end", async (t) => {
    const strict = defineJob("strict", { input: z.object({ n: z.number() }) }, ({ n }) => n);
    const fail = defineJob("fail", () => {
      throw new Error("no");
    });
    const never = defineJob("never", () => new Promise<never>(() => undefined));
    const engine = await startEngine(t, { jobs: [echo, strict, fail, never, exit, spin], poolSize: 2 });
    const end = async (job: string, timeout = 30): Promise<void> => {
      const run = await engine.submitWorkflow(workflow(`w-${job}`, task("t", job).withTimeout(timeout)));
      await run.result().catch((error: unknown) => assert.ok(error instanceof WorkflowFailed));
      noSlotLeaked(engine);
    };
    await end("echo");
    await end("fail");
    await end("strict");
    await end("never", 0.01);
    await end("exit");
    await end("spin", 0.01);
    const run = await engine.submitWorkflow(workflow("w", task("t", "never")));
    await until(() => engine.health.runningTasks === 1);
    await run.terminate();
    noSlotLeaked(engine);
    await stillWorks(engine);
  });

  test("4.7 a late report can neither revive a finished instance nor start anything twice", async (t) => {
    const late = new Gate();
    const started: string[] = [];
    const slow = defineJob("slow", async () => {
      await late.opened;
      return "late";
    });
    const after = defineJob("after", () => void started.push("after"));
    const engine = await startEngine(t, { jobs: [slow, after] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "slow"), task("u", "after").withDependency("t")));
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "t").status === "Running");
    await run.terminate("stop");
    late.open();
    await until(() => engine.health.droppedReports === 1);
    assert.equal((await run.getStatus()).status, "Terminated");
    assert.deepEqual(started, []);
  });
});

describe("4.8 delivery", () => {
  test("4.8 each attempt has an id of its own, the same over restarts", async (t) => {
    const ids: string[] = [];
    const fail = defineJob("fail", (_: unknown, ctx) => {
      ids.push(ctx.attemptId);
      throw new Error("no");
    });
    const engine = await startEngine(t, { jobs: [fail] });
    const run = await engine.submitWorkflow(
      workflow("w", task("t", "fail").withRetryCount(1), task("u", "fail").withRetryCount(1)),
    );
    await assert.rejects(run.result());
    await engine.retryWorkflowInstance(run.instanceId);
    await assert.rejects(run.result());
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => id.includes(run.instanceId)));
  });

  test("4.8 a result from an older attempt is dropped and counted", async (t) => {
    const late = new Gate();
    const slow = defineJob("slow", async (_: unknown, ctx) => {
      if (ctx.attempt === 1) await late.opened;
      return ctx.attempt;
    });
    const after = new Gate();
    const wait = defineJob("wait", () => after.opened);
    const engine = await startEngine(t, { jobs: [slow, wait] });
    const run = await engine.submitWorkflow(
      workflow("w", task("t", "slow").withTimeout(0.05).withRetryCount(1), task("u", "wait").withDependency("t")),
    );
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "u").status === "Running");
    late.open();
    await until(() => engine.health.droppedReports === 1);
    after.open();
    assert.deepEqual(await run.result(), { t: 2 });
  });
});
