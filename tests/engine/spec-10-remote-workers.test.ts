/** Spec §10.1, §10.2, §4.3 and §11.2: remote workers, and their attempts while members come and go. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defineJob } from "../../src/index.ts";
import { defaultTimings, ownPatience } from "../../src/cluster/timings.ts";
import { type HandCall, HandJob } from "../runtime/hand-job.ts";
import { EngineClusterRig, lookMs, type RigMember } from "./engine-cluster-rig.ts";
import { says, task, taskOf, workflow } from "./rig.ts";
import { RigWorker } from "./worker-rig.ts";

const { workerBeatMs, workerLostMs } = defaultTimings;
const one = workflow("one", task("t", "work").withTimeout(3600));

interface Stage {
  readonly rig: EngineClusterRig;
  readonly clock: EngineClusterRig["clock"];
  /** The worker is connected to `a`, and goes to `b` when it is gone. */
  readonly a: RigMember;
  readonly b: RigMember;
  readonly worker: RigWorker;
  /** The same job on the worker, and on the members. */
  readonly remote: HandJob;
  readonly embedded: HandJob;
}

async function stage(t: TestContext): Promise<Stage> {
  const [remote, embedded] = [new HandJob(), new HandJob()];
  const [rig, a, b] = await EngineClusterRig.start(t, 2, {
    jobs: [embedded.job],
    poolSize: 1,
    poolSizeMax: 1,
    remoteWorkers: true,
  });
  const worker = await RigWorker.start(t, rig, { members: [a, b], jobs: [remote.job] });
  return { rig, clock: rig.clock, a, b, worker, remote, embedded };
}

/** An instance that lives on `a` has a task that runs on the worker. */
async function running(t: TestContext): Promise<Stage & { id: string; call: HandCall }> {
  const parts = await stage(t);
  const { rig, clock, a, remote } = parts;
  const id = await rig.idOn(a);
  await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
  const call = await clock.until(remote.call("t", { instanceId: id }));
  return { ...parts, id, call };
}

describe("10.1 a remote worker", () => {
  test("10.1 runs jobs of the member it is connected to, as the embedded worker does", async (t) => {
    const { rig, clock, a, b, remote, embedded } = await stage(t);
    const ids = [await rig.idOn(a, "x"), await rig.idOn(a, "y")];
    for (const id of ids) await clock.until(b.engine.submitWorkflow(one, { instanceId: id }));
    const [first = "", second = ""] = ids;
    (await clock.until(remote.call("t", { instanceId: first }))).finish("remote");
    (await clock.until(embedded.call("t", { instanceId: second }))).finish("embedded");
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(first)), { t: "remote" });
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(second)), { t: "embedded" });
    const { worker } = taskOf(await clock.until(a.engine.getWorkflowInstanceStatus(first)), "t");
    assert.equal(worker?.startsWith(`${a.id}/`), true, "history names the member and the worker");
  });

  test("10.3 tasks go to workers with their tags, or to the designated one, wherever these move", async (t) => {
    const { rig, clock, a, b, remote, embedded } = await stage(t);
    const tagged = new HandJob();
    const onTag = workflow("on-tag", task("t", "work").withWorkerTags("gpu"));
    const [x, y] = [await rig.idOn(a, "x"), await rig.idOn(a, "y")];
    await clock.until(a.engine.submitWorkflow(onTag, { instanceId: x }));
    await clock.advance(lookMs);
    const { wait } = await clock.until(a.engine.getTask(x, "t"));
    const text = "a worker that has job work and tag gpu, and no such worker is connected";
    assert.equal(wait?.text.replace(/work@\w+/, "work"), text);
    // The worker is connected to another member than the one that owns the instances.
    const gpu = await RigWorker.start(t, rig, { members: [b, a], jobs: [tagged.job], tags: ["gpu", "eu"] });
    const onWorker = workflow("on-worker", task("t", "work").withWorker(gpu.worker.id));
    (await clock.until(tagged.call("t", { instanceId: x }))).finish("tagged");
    await clock.until(a.engine.submitWorkflow(onWorker, { instanceId: y }));
    const call = await clock.until(tagged.call("t", { instanceId: y }));
    await gpu.goTo(a);
    call.finish("tagged");
    for (const id of [x, y]) assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: "tagged" });
    assert.deepEqual([remote.calls, embedded.calls], [[], []]);
    const { workers } = await clock.until(b.engine.cluster.listWorkers());
    const ofA = workers.filter(({ member }) => member === a.id);
    assert.deepEqual(
      ofA.map(({ tags }) => tags),
      [[], [], ["gpu", "eu"]],
    );
  });

  test("10.4 items of a map run on remote workers, with their values", async (t) => {
    const items = defineJob("work", (_: unknown, ctx) => [ctx.item, ctx.index]);
    const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [items], runsJobs: false, remoteWorkers: true });
    await RigWorker.start(t, rig, { members: [a], jobs: [items] });
    const map = workflow("mapped", task("m", "work").withMap(["x", { y: 1 }], { concurrency: 2 }));
    await rig.clock.until(a.engine.submitWorkflow(map, { instanceId: "i" }));
    const results = [
      ["x", 0],
      [{ y: 1 }, 1],
    ];
    assert.deepEqual(await rig.clock.until(a.engine.awaitWorkflowInstance("i")), {
      m: { total: 2, succeeded: 2, failed: 0, results },
    });
  });

  test("10.3 a worker is known by its address in the namespace, with its principal", async (t) => {
    const { rig, clock, a, worker, remote } = await stage(t);
    const id = await rig.idOn(a);
    const address = `${a.id}/${worker.worker.id}`;
    const one = workflow("one-address", task("t", "work").withWorker(address));
    await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
    (await clock.until(remote.call("t", { instanceId: id }))).finish(1);
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: 1 });
  });

  test("10.7 its jobs' log lines go to the onTaskLog of the member it is connected to", async (t) => {
    const lines: string[] = [];
    const remote = new HandJob();
    const [rig, a] = await EngineClusterRig.start(t, 1, {
      jobs: [remote.job],
      runsJobs: false,
      remoteWorkers: true,
      onTaskLog: ({ instanceId, message }) => lines.push(`${instanceId}: ${message}`),
    });
    await RigWorker.start(t, rig, { members: [a], jobs: [remote.job] });
    await rig.clock.until(a.engine.submitWorkflow(one, { instanceId: "x" }));
    const call = await rig.clock.until(remote.call("t"));
    call.ctx.log.info({}, "said remotely");
    call.finish(1);
    await rig.clock.until(a.engine.awaitWorkflowInstance("x"));
    assert.deepEqual(lines, ["x: said remotely"]);
  });

  test("4.9 its jobs' progress is shown as that of jobs in this process, a few reports per second", async (t) => {
    const { clock, a, id, call } = await running(t);
    const heard: number[] = [];
    a.engine.executor.onTaskProgress(({ progress }) => heard.push(progress.fraction));
    for (let done = 1; done <= 100; done++) call.ctx.progress({ done, total: 200 }, `page ${done}`);
    await clock.advance(lookMs);
    const { progress } = await clock.until(a.engine.getTask(id, "t"));
    assert.deepEqual(progress, { fraction: 0.5, done: 100, total: 200, message: "page 100" });
    assert.deepEqual(heard, [0.005, 0.5]);
    call.finish(1);
    await clock.until(a.engine.awaitWorkflowInstance(id));
    assert.equal((await clock.until(a.engine.getTask(id, "t"))).progress, undefined);
  });

  test("4.3 that is killed fails no task by its timeout: the attempt runs again, and uses up no retry", async (t) => {
    const { rig, clock, a, worker, remote, embedded } = await stage(t);
    const id = await rig.idOn(a);
    const short = workflow("short", task("t", "work").withTimeout(30));
    await clock.until(a.engine.submitWorkflow(short, { instanceId: id }));
    await clock.until(remote.call("t", { instanceId: id }));
    worker.kill();
    await clock.advance(workerLostMs - 1000);
    const { status, failure } = taskOf(await clock.until(a.engine.getWorkflowInstanceStatus(id)), "t");
    assert.deepEqual([status, failure], ["Running", undefined]);
    await clock.advance(2000);
    (await clock.until(embedded.call("t", { instanceId: id }))).finish("again");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "again" });
    assert.equal(taskOf(await clock.until(a.engine.getWorkflowInstanceStatus(id)), "t").attempt, 1);
  });

  test("10.2 that stands still is given nothing more", async (t) => {
    const { rig, clock, a, worker, remote, embedded } = await stage(t);
    worker.mute();
    await clock.advance(1.5 * workerBeatMs);
    const view = a.engine.listWorkers().find(({ isRemote }) => isRemote);
    assert.equal(view?.isReachable, false);
    assert.ok(clock.now() - (view?.lastHeardAt ?? 0) >= 1.5 * workerBeatMs);
    for (const prefix of ["x", "y", "z"]) {
      const id = await rig.idOn(a, prefix);
      await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
      (await clock.until(embedded.call("t", { instanceId: id }))).finish("here");
      assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "here" });
    }
    assert.deepEqual(remote.calls, []);
  });

  test("10.1 is refused by an engine that is not made for it", async (t) => {
    const [, a] = await EngineClusterRig.start(t, 1);
    const link = { send: () => undefined, close: () => undefined };
    assert.throws(() => a.engine.acceptWorker(link), says("OPTION_INVALID", "remoteWorkers"));
  });

  test("10.2 whose connection breaks comes back, and what it runs goes on", async (t) => {
    const { clock, a, id, call, worker, remote, embedded } = await running(t);
    worker.loseLink();
    await worker.untilConnected();
    await clock.advance(workerLostMs * 2);
    assert.equal(call.ctx.signal.aborted, false);
    call.finish("still there");
    assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(id)), { t: "still there" });
    assert.deepEqual([remote.calls.length, embedded.calls.length], [1, 0]);
  });

  test("10.2 that stops in good order gives its attempts back, and they run elsewhere free of charge", async (t) => {
    const { rig, clock, b, id, call, worker, embedded } = await running(t);
    await clock.until(worker.worker.stop());
    assert.equal(call.ctx.signal.aborted, true);
    (await clock.until(embedded.call("t", { instanceId: id }))).finish("again");
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: "again" });
    assert.equal((await rig.historyOf(id)).includes("TaskInterrupted"), false);
  });

  test("10.2 that dies is lost after 60 s: its attempt is interrupted and runs elsewhere", async (t) => {
    const { rig, clock, b, id, worker, remote, embedded } = await running(t);
    worker.kill();
    await clock.advance(workerLostMs - workerBeatMs);
    assert.deepEqual([remote.calls.length, embedded.calls.length], [1, 0], "until then it may come back");
    const again = await clock.until(embedded.call("t", { instanceId: id }), { maxMs: 2 * workerBeatMs });
    again.finish("again");
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: "again" });
    assert.equal((await rig.historyOf(id)).filter((type) => type === "TaskInterrupted").length, 1);
  });

  test("10.2 that is cut off stops its attempt before anybody runs it elsewhere", async (t) => {
    const { clock, a, b, id, call, worker, embedded } = await running(t);
    let abortedAt = Infinity;
    call.ctx.signal.addEventListener("abort", () => (abortedAt = clock.now()));
    const since = clock.now();
    worker.isolate();
    const again = await clock.until(embedded.call("t", { instanceId: id }), { maxMs: 2 * workerLostMs });
    assert.ok(abortedAt <= since + ownPatience * workerLostMs + workerBeatMs && abortedAt < clock.now());
    again.finish("again");
    assert.deepEqual(await clock.until((a.isRunning ? a : b).engine.awaitWorkflowInstance(id)), { t: "again" });
  });
});

/** Ways for the worker's member to go. */
const departures: Readonly<Record<string, (stage: Stage) => Promise<unknown>>> = {
  "stops in good order": async ({ rig, a }) => await rig.stop(a),
  "is killed": async ({ a, worker }) => {
    a.kill();
    worker.loseLink();
  },
  "is killed and nobody tells the worker": async ({ a }) => a.kill(),
};

for (const [how, depart] of Object.entries(departures)) {
  describe(`10.2 a worker whose member ${how}`, () => {
    test("10.2 goes to another with what it runs: it is not run twice, and its result arrives", async (t) => {
      const parts = await running(t);
      const { rig, clock, b, id, call, worker, remote, embedded } = parts;
      await depart(parts);
      await clock.advance(2 * workerLostMs);
      assert.deepEqual([worker.member, worker.worker.isConnected], [b, true]);
      assert.equal(call.ctx.signal.aborted, false);
      assert.equal(await rig.ownerOf(id), b);
      call.finish("kept");
      assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: "kept" });
      assert.deepEqual([remote.calls.length, embedded.calls.length], [1, 0]);
      assert.equal((await rig.historyOf(id)).includes("TaskInterrupted"), false);
      await clock.advance(workerBeatMs);
      assert.equal(worker.worker.resultCount, 0, "the result was acknowledged");
    });

    test("10.2 keeps a result that nobody has heard until somebody has", async (t) => {
      const parts = await running(t);
      const { rig, clock, b, id, call, worker, remote, embedded } = parts;
      worker.mute();
      call.finish("kept");
      await clock.settle();
      assert.equal(worker.worker.resultCount, 1);
      await depart(parts);
      await worker.untilConnected();
      assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { t: "kept" });
      await clock.advance(2 * workerBeatMs + lookMs);
      assert.equal(worker.worker.resultCount, 0);
      assert.deepEqual([remote.calls.length, embedded.calls.length], [1, 0]);
      assert.equal((await rig.historyOf(id)).includes("TaskInterrupted"), false);
    });
  });
}

/** Of several attempts on the worker of `a`, one whose shard has gone to a third member since. */
async function moved(t: TestContext): Promise<Stage & { c: RigMember; call: HandCall; calls: () => number }> {
  const parts = await stage(t);
  const { rig, clock, a, remote, embedded } = parts;
  const ids = await rig.idsOn(
    a,
    Array.from({ length: 20 }, (_, number) => `i-${number}`),
  );
  for (const id of ids) await clock.until(a.engine.submitWorkflow(one, { instanceId: id }));
  await clock.advance(lookMs);
  const c = await rig.join("c");
  await rig.spread();
  const there = await rig.idsOn(c, ids);
  const call = remote.calls.find(({ ctx }) => there.includes(ctx.instanceId));
  assert.ok(call !== undefined, "one that runs on the worker has moved");
  const { instanceId } = call.ctx;
  const isSame = ({ ctx }: HandCall): boolean => ctx.instanceId === instanceId;
  return { ...parts, c, call, calls: () => [...remote.calls, ...embedded.calls].filter(isSame).length };
}

describe("11.2 what a worker runs when its shard moves", () => {
  test("11.2 stays with its member, and its result goes to the new owner", async (t) => {
    const { rig, clock, b, call, calls } = await moved(t);
    await clock.advance(2 * workerLostMs);
    assert.equal(call.ctx.signal.aborted, false);
    call.finish("from afar");
    const { instanceId } = call.ctx;
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(instanceId)), { t: "from afar" });
    assert.equal(calls(), 1);
    assert.equal((await rig.historyOf(instanceId)).includes("TaskInterrupted"), false);
  });

  test("11.2 may go to the new owner with its worker, and back, and its result is not lost on the way", async (t) => {
    const { rig, clock, a, b, c, call, calls, worker } = await moved(t);
    await worker.goTo(c);
    // Before a, which does not know that it was away, has said anything of it to anybody.
    await worker.goTo(a);
    call.finish("there and back");
    const { instanceId } = call.ctx;
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(instanceId)), { t: "there and back" });
    assert.equal(calls(), 1);
    assert.equal((await rig.historyOf(instanceId)).includes("TaskInterrupted"), false);
    await clock.advance(2 * workerBeatMs);
    assert.equal(worker.worker.resultCount, 0);
  });
});
