/** Spec §4.11: heartbeats of jobs, their timeout, and the details that the next run finds. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defineJob, defineWorkflow, type Engine, type Job, StepFailed, WorkflowFailed } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { defaultTimings } from "../../src/cluster/timings.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { EngineClusterRig, lookMs } from "./engine-cluster-rig.ts";
import { beatsInProcess } from "./process-jobs.ts";
import { aborted, Gate, newEngine, says, startEngine, stopEngine, task, workflow } from "./rig.ts";
import { beatsInThread } from "./thread-jobs.ts";
import { RigWorker } from "./worker-rig.ts";

const { workerBeatMs, workerLostMs } = defaultTimings;

async function stage(t: TestContext, ...jobs: readonly Job[]) {
  const clock = new TestClock();
  return { clock, engine: await startEngine(t, { jobs: [...jobs], clock, storage: memoryStore() }) };
}

/** Sends a heartbeat with details in its first attempt, and is silent then; the next attempt returns what it finds. */
const pages = defineJob("pages", async (_: unknown, ctx) => {
  if (ctx.attempt > 1) return ctx.heartbeatDetails;
  ctx.heartbeat({ page: 7 });
  await aborted(ctx.signal);
  return "too late";
});

/** A task of a job that sends eight heartbeats, and is silent then; its second attempt returns what it finds. */
function beating(job: string) {
  return workflow(job, task("t", job).withTimeout(60).withHeartbeatTimeout(2).withRetryCount(1));
}

describe("4.11 a heartbeat timeout", () => {
  test("4.11 ends an attempt whose job is silent as TimeoutFailed, with a message of its own", async (t) => {
    const reasons: unknown[] = [];
    const silent = defineJob("silent", async (_: unknown, ctx) => {
      await aborted(ctx.signal);
      reasons.push(ctx.signal.reason);
    });
    const { clock, engine } = await stage(t, silent);
    const run = await engine.submitWorkflow(workflow("w", task("t", "silent").withHeartbeatTimeout(5)));
    const since = clock.now();
    const error = await clock.until(run.result()).catch((failed: unknown) => failed);
    assert.ok(error instanceof WorkflowFailed);
    assert.equal(clock.now() - since, 5000);
    const [failed] = error.failedTasks;
    assert.deepEqual([failed?.status, failed?.failure?.type], ["TimeoutFailed", "HEARTBEAT_TIMEOUT"]);
    const message = 'task "t" of workflow "w" sent no heartbeat within its heartbeat timeout of 5 s';
    assert.equal(failed?.failure?.message, message);
    says("HEARTBEAT_TIMEOUT", '"t"')(reasons[0]);
  });

  test("4.11 is put off by each heartbeat", async (t) => {
    const gate = new Gate();
    const beats = defineJob("beats", async (_: unknown, ctx) => {
      for (let n = 0; n < 10; n++) {
        ctx.heartbeat();
        await new Promise<void>((resolve) => void clock.after(4000, resolve));
      }
      await gate.opened;
    });
    const { clock, engine } = await stage(t, beats);
    const run = await engine.submitWorkflow(
      workflow("w", task("t", "beats").withTimeout(3600).withHeartbeatTimeout(5)),
    );
    const since = clock.now();
    const error = await clock.until(run.result()).catch((failed: unknown) => failed);
    assert.ok(error instanceof WorkflowFailed);
    assert.equal(clock.now() - since, 9 * 4000 + 5000);
  });

  test("4.11 is followed by the retries of the task, which find the details of the last heartbeat", async (t) => {
    const { clock, engine } = await stage(t, pages);
    const run = await engine.submitWorkflow(
      workflow("w", task("t", "pages").withHeartbeatTimeout(5).withRetryCount(1)),
    );
    assert.deepEqual(await clock.until(run.result()), { t: { page: 7 } });
  });

  test("4.11 is an option of activities, of single jobs and of tasks of the executor", async (t) => {
    const code = defineWorkflow("code", { version: "1" }, async (ctx) => {
      const options = { heartbeatTimeoutSeconds: 5, timeoutSeconds: 60 };
      const error = await ctx.run(silent, undefined, options).catch((failed: unknown) => failed);
      assert.ok(error instanceof StepFailed);
      return [error.failure.type, await ctx.run(pages, undefined, { ...options, retryCount: 1 })];
    });
    const silent = defineJob("silent", async (_: unknown, ctx) => await aborted(ctx.signal));
    const clock = new TestClock();
    const options = { jobs: [silent, pages], workflows: [code], clock, storage: memoryStore() };
    const engine = await startEngine(t, options);
    const coded = await engine.startWorkflow(code);
    assert.deepEqual(await clock.until(coded.result()), ["HEARTBEAT_TIMEOUT", { page: 7 }]);
    const single = await engine.runJob("pages", undefined, { heartbeatTimeoutSeconds: 5, retryCount: 1 });
    assert.deepEqual(await clock.until(single.result()), { pages: { page: 7 } });
    const submitted = engine.executor.submitTask(task("t", "silent").withHeartbeatTimeout(5).build());
    await assert.rejects(clock.until(submitted), says("HEARTBEAT_TIMEOUT", '"t"'));
  });

  test("4.11 holds for items of maps, each of which has heartbeats of its own", async (t) => {
    const items = defineJob("items", async (item: number, ctx) => {
      if (ctx.attempt > 1) return [item, ctx.heartbeatDetails];
      ctx.heartbeat(item * 10);
      if (item === 2) await aborted(ctx.signal);
      return item;
    });
    const { clock, engine } = await stage(t, items);
    const map = task("m", "items").withMap([1, 2]).withHeartbeatTimeout(5).withRetryCount(1);
    const run = await engine.submitWorkflow(workflow("w", map));
    const results = [1, [2, 20]];
    assert.deepEqual(await clock.until(run.result()), { m: { total: 2, succeeded: 2, failed: 0, results } });
  });

  test("4.11 is measured in threads and child processes, which pass the details on", async (t) => {
    const jobs = [beatsInThread, beatsInProcess];
    const engine = await startEngine(t, { jobs });
    const found = await Promise.all(
      jobs.map(async ({ name }) => await (await engine.submitWorkflow(beating(name))).result()),
    );
    for (const { t: output } of found) assert.deepEqual(output, { beat: 8 });
  });

  test("4.11 does not count the time for which the event loop of the process was blocked", async (t) => {
    const engine = await startEngine(t, { jobs: [beatsInThread] });
    let heard = 0;
    const run = await engine.submitWorkflow(beating("beatsInThread"));
    engine.executor.onTaskProgress(() => heard++);
    await until(() => heard > 0);
    const since = performance.now();
    while (performance.now() - since < 3000);
    assert.deepEqual(await run.result(), { t: { beat: 8 } });
  });

  test("4.11 is refused if it is no time", () => {
    assert.throws(() => task("t", "pages").withHeartbeatTimeout(0).build(), says("TASK_INVALID", "heartbeat timeout"));
  });
});

describe("4.11 the details of a heartbeat", () => {
  test("4.11 are found after a failure, by every attempt that sends none of its own", async (t) => {
    const found: unknown[] = [];
    const failing = defineJob("failing", (_: unknown, ctx) => {
      found.push(ctx.heartbeatDetails);
      if (ctx.attempt === 1) ctx.heartbeat(null);
      if (ctx.attempt === 2) ctx.heartbeat([1]);
      if (ctx.attempt === 4) return "done";
      throw new Error("not yet");
    });
    const { clock, engine } = await stage(t, failing);
    const run = await engine.submitWorkflow(workflow("w", task("t", "failing").withRetryCount(3)));
    await clock.until(run.result());
    assert.deepEqual(found, [undefined, null, [1], [1]]);
  });

  test("4.11 are those of the last heartbeat that had some", async (t) => {
    const failing = defineJob("failing", (_: unknown, ctx) => {
      if (ctx.attempt > 1) return ctx.heartbeatDetails;
      ctx.heartbeat("first");
      ctx.heartbeat("second");
      ctx.heartbeat();
      throw new Error("no");
    });
    const { clock, engine } = await stage(t, failing);
    const run = await engine.submitWorkflow(workflow("w", task("t", "failing").withRetryCount(1)));
    assert.deepEqual(await clock.until(run.result()), { t: "second" });
  });

  test("4.11 are JSON of at most 4096 bytes", async (t) => {
    const greedy = defineJob("greedy", (size: number, ctx) => ctx.heartbeat("x".repeat(size)));
    const { clock, engine } = await stage(t, greedy);
    await clock.until((await engine.runJob("greedy", 4094)).result());
    const over = (await engine.runJob("greedy", 4095)).result();
    const error = await clock.until(over).catch((failed: unknown) => failed);
    assert.ok(error instanceof WorkflowFailed);
    const { failure } = error.failedTasks[0] ?? {};
    assert.equal(failure?.type, "OPTION_INVALID");
    assert.match(failure?.message ?? "", /4097 bytes, more than the 4096 allowed/);
  });

  test("4.11 are not found when the task runs anew", async (t) => {
    const found: unknown[] = [];
    const failing = defineJob("failing", (_: unknown, ctx) => {
      found.push(ctx.heartbeatDetails);
      ctx.heartbeat(ctx.attempt);
      if (ctx.attempt < 3) throw new Error("not yet");
    });
    const { clock, engine } = await stage(t, failing);
    const run = await engine.submitWorkflow(workflow("w", task("t", "failing").withRetryCount(1)));
    await assert.rejects(clock.until(run.result()));
    await engine.retryWorkflowInstance(run.instanceId);
    await clock.until(run.result());
    assert.deepEqual(found, [undefined, 1, undefined]);
  });

  test("4.11 survive a stop of the engine in good order", async (t) => {
    const file = temporaryFile(t);
    const hand = new HandJob();
    const start = async (): Promise<Engine> => {
      const engine = newEngine({ jobs: [hand.job], storage: sqlite(file) });
      await engine.start();
      t.after(() => stopEngine(engine));
      return engine;
    };
    const first = await start();
    await first.submitWorkflow(workflow("w", task("t", "work")), { instanceId: "i" });
    (await hand.call("t")).ctx.heartbeat({ row: 12 });
    await first.stop();
    const second = await start();
    const again = await hand.call("t", { after: 1 });
    assert.deepEqual([again.ctx.attempt, again.ctx.heartbeatDetails], [1, { row: 12 }]);
    again.finish("done");
    assert.deepEqual(await second.awaitWorkflowInstance("i"), { t: "done" });
  });
});

describe("4.11 heartbeats on remote workers and other members", () => {
  const one = workflow("one", task("t", "work").withTimeout(3600).withHeartbeatTimeout(600).withRetryCount(1));

  async function remote(t: TestContext, members = 1) {
    const work = new HandJob();
    const options = { jobs: [work.job], runsJobs: false, remoteWorkers: true };
    const [rig, ...all] = await EngineClusterRig.start(t, members, options);
    const [a] = all;
    assert.ok(a !== undefined);
    const worker = await RigWorker.start(t, rig, { members: all, jobs: [work.job] });
    const id = await rig.idOn(a);
    await rig.clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
    const call = await rig.clock.until(work.call("t"));
    return { rig, clock: rig.clock, a, all, worker, work, id, call };
  }

  test("4.11 a worker ends an attempt whose job is silent; the next finds its details", async (t) => {
    const { clock, a, work, id, call } = await remote(t);
    await clock.advance(599_000);
    call.ctx.heartbeat({ page: 7 });
    await clock.advance(599_000);
    assert.equal(call.ctx.signal.aborted, false);
    const again = await clock.until(work.call("t", { after: 1 }));
    assert.equal(call.ctx.signal.aborted, true);
    assert.deepEqual([again.ctx.attempt, again.ctx.heartbeatDetails], [2, { page: 7 }]);
    again.finish("done");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "done" });
  });

  test("4.11 the loss of a worker leaves the details that its member heard", async (t) => {
    const { rig, clock, worker, work, call, a } = await remote(t);
    call.ctx.heartbeat({ page: 1 });
    call.ctx.heartbeat({ page: 2 });
    await clock.advance(lookMs);
    worker.kill();
    await RigWorker.start(t, rig, { members: [a], jobs: [work.job] });
    const again = await clock.until(work.call("t", { after: 1 }), { maxMs: 2 * workerLostMs });
    assert.deepEqual([again.ctx.attempt, again.ctx.heartbeatDetails], [1, { page: 2 }]);
  });

  test("4.11 a worker that stops hands the details to the next run", async (t) => {
    const { rig, clock, worker, work, call, a } = await remote(t);
    call.ctx.heartbeat({ page: 1 });
    call.ctx.heartbeat({ page: 2 });
    await RigWorker.start(t, rig, { members: [a], jobs: [work.job] });
    void worker.worker.stop();
    const again = await clock.until(work.call("t", { after: 1 }), { maxMs: workerBeatMs });
    assert.deepEqual([again.ctx.attempt, again.ctx.heartbeatDetails], [1, { page: 2 }]);
  });

  test("4.11 a worker that goes to another member tells it the details", async (t) => {
    const { rig, clock, all, worker, work, call, id } = await remote(t, 2);
    const [a, b] = all;
    assert.ok(a !== undefined && b !== undefined);
    call.ctx.heartbeat({ page: 3 });
    await worker.goTo(b);
    await clock.advance(4 * workerBeatMs);
    worker.kill();
    await RigWorker.start(t, rig, { members: [a], jobs: [work.job] });
    const again = await clock.until(work.call("t", { instanceId: id, after: 1 }), { maxMs: 3 * workerLostMs });
    assert.deepEqual(again.ctx.heartbeatDetails, { page: 3 });
  });

  test("4.11 the owner knows the details of an attempt in the pool of a member that is lost", async (t) => {
    const work = new HandJob();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job], poolSize: 1, poolSizeMax: 1 });
    const { clock } = rig;
    const ids = [await rig.idOn(a, "x"), await rig.idOn(a, "y")];
    for (const id of ids) await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
    await clock.advance(2 * workerBeatMs);
    assert.equal(work.calls.length, 2, "the second runs in the pool of the other member");
    const { workers } = await clock.until(a.engine.cluster.listWorkers());
    assert.deepEqual(
      workers.map(({ runningTasks }) => runningTasks),
      [1, 1],
    );
    const views = await Promise.all(ids.map((id) => clock.until(a.engine.getTask(id, "t"))));
    const hosted = views.findIndex(({ worker }) => worker === b.id);
    const id = ids[hosted];
    assert.ok(id !== undefined, "one of them runs on b");
    const call = work.calls.find(({ ctx }) => ctx.instanceId === id);
    call?.ctx.heartbeat({ page: 5 });
    await clock.advance(2 * workerBeatMs);
    b.kill();
    work.calls.find(({ ctx }) => ctx.instanceId !== id)?.finish(1);
    const again = await clock.until(work.call("t", { instanceId: id, after: 1 }), { maxMs: 10 * workerLostMs });
    assert.deepEqual([again.ctx.attempt, again.ctx.heartbeatDetails], [1, { page: 5 }]);
  });
});
