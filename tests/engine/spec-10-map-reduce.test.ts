/** Spec §10.4: a map-reduce ends with one job that reads the results of all items. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, type JobContext, Workflow } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { EngineClusterRig } from "./engine-cluster-rig.ts";
import { Gate, newEngine, says, startEngine, statuses, task, untilInstance, workflow } from "./rig.ts";
import { sumInThread } from "./thread-jobs.ts";
import { RigWorker } from "./worker-rig.ts";

/** Fails for odd items as long as the test says. */
function halver(): { job: ReturnType<typeof defineJob>; broken: boolean; calls: number } {
  const state = { broken: false, calls: 0 };
  const job = defineJob("half", (item: number) => {
    state.calls++;
    if (state.broken && item % 2 === 1) throw new Error(`${item} is odd`);
    return item / 2;
  });
  return Object.assign(state, { job });
}

async function summarize(ctx: JobContext): Promise<unknown> {
  let sum = 0;
  const failed: unknown[] = [];
  const indexes: number[] = [];
  for await (const { index, item, status, output, failure } of ctx.results()) {
    indexes.push(index);
    if (status === "Success") sum += Number(output);
    else failed.push([item, status, failure?.message]);
  }
  assert.deepEqual(
    indexes,
    indexes.map((_, place) => place),
  );
  return { count: indexes.length, sum, failed };
}

const summary = defineJob("summary", async (_: unknown, ctx) => summarize(ctx));

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

describe("10.4 a map-reduce", () => {
  test("10.4 gives the output of its reduce, which reads the results of all items by page, in order", async (t) => {
    const engine = await startEngine(t, { jobs: [halver().job, summary] });
    const map = (count: number) => task("m", "half").withMap(numbers(count), { concurrency: 100 });
    const run = await engine.submitWorkflow(workflow("w", map(1001).withReduce("summary")));
    assert.deepEqual(await run.result(), { m: { count: 1001, sum: 250_250, failed: [] } });
    const { counts, hooks } = await engine.listMapItems(run.instanceId, "m", { limit: 1 });
    assert.equal(counts.total, 1001);
    const [reduce, ...others] = hooks;
    assert.deepEqual([others, reduce?.name, reduce?.status, reduce?.attempt], [[], "reduce", "Success", 1]);
    assert.deepEqual(reduce?.output, { count: 1001, sum: 250_250, failed: [] });
    const empty = await engine.submitWorkflow(workflow("w", map(0).withReduce(summary)));
    assert.deepEqual(await empty.result(), { m: { count: 0, sum: 0, failed: [] } });
  });

  test("10.4 its reduce sees failed items and decides; with a tolerance they may fail the task before", async (t) => {
    const work = halver();
    work.broken = true;
    const engine = await startEngine(t, { jobs: [work.job, summary] });
    const map = (options = {}) => task("m", "half").withMap([1, 2, 3], options).withReduce("summary");
    const run = await engine.submitWorkflow(workflow("w", map()));
    const failed = [
      [1, "Failed", "1 is odd"],
      [3, "Failed", "3 is odd"],
    ];
    assert.deepEqual(await run.result(), { m: { count: 3, sum: 1, failed } });
    const strict = await engine.submitWorkflow(workflow("w2", map({ tolerateFailures: 1 })));
    await assert.rejects(strict.result(), says("WORKFLOW_FAILED", "2 of 3 items failed"));
    const { hooks } = await engine.listMapItems(strict.instanceId, "m");
    assert.deepEqual([hooks[0]?.status, hooks[0]?.attempt], ["Canceled", 0]);
    work.broken = false;
    await engine.retryWorkflowInstance(strict.instanceId);
    assert.deepEqual(await strict.result(), { m: { count: 3, sum: 3, failed: [] } });
  });

  test("10.4 retries its reduce; if only that failed, a retry of the instance runs only that", async (t) => {
    const work = halver();
    let attempts = 0;
    let isBroken = true;
    const reduce = defineJob("reduce", async (params: { base: number }, ctx) => {
      attempts++;
      if (isBroken) throw new Error("no sum");
      return { base: params.base, ...((await summarize(ctx)) as object) };
    });
    const engine = await startEngine(t, { jobs: [work.job, reduce] });
    const built = task("m", "half").withMap([2, 4]).withReduce(reduce, { base: 7 }).withRetryCount(1).build();
    const run = await engine.submitWorkflow(workflow("w", built));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "its reduce job failed: no sum"));
    assert.deepEqual([work.calls, attempts], [2, 2]);
    isBroken = false;
    await engine.retryWorkflowInstance(run.instanceId);
    assert.deepEqual(await run.result(), { m: { base: 7, count: 2, sum: 3, failed: [] } });
    assert.deepEqual([work.calls, attempts], [2, 3]);
    const { hooks } = await engine.listMapItems(run.instanceId, "m");
    assert.equal(hooks[0]?.attempt, 3);
  });

  test("10.4 its reduce has the timeout of the task, and is paused, stopped and taken up again with it", async (t) => {
    const path = temporaryFile(t);
    let gate = new Gate();
    let started = 0;
    let aborts = 0;
    const reduce = defineJob("reduce", async (params: string, ctx) => {
      started++;
      ctx.signal.addEventListener("abort", () => aborts++);
      await Promise.race([gate.opened, new Promise((resolve) => ctx.signal.addEventListener("abort", resolve))]);
      if (ctx.signal.aborted) throw new Error("aborted");
      return params;
    });
    const jobs = [halver().job, reduce];
    const map = () => task("m", "half").withMap([1]).withReduce(reduce, "done");
    const engine = newEngine({ storage: sqlite(path), jobs });
    await engine.start();
    const late = await engine.submitWorkflow(workflow("w", map().withTimeout(0.05)));
    await assert.rejects(late.result(), says("WORKFLOW_FAILED", "its reduce job failed"));
    assert.equal((await engine.listMapItems(late.instanceId, "m")).hooks[0]?.status, "TimeoutFailed");

    started = 0;
    aborts = 0;
    const stopped = await engine.submitWorkflow(workflow("w2", map().withSkipWhenFailed()));
    await until(() => started === 1);
    await engine.stopTask(stopped.instanceId, "m");
    await stopped.result();
    assert.deepEqual(await statuses(stopped), { m: "Stopped" });
    await until(() => aborts === 1);

    const held = await engine.submitWorkflow(workflow("w3", map()));
    await until(() => started === 2);
    await engine.stop();
    gate.open();
    gate = new Gate();
    gate.open();
    const second = await startEngine(t, { storage: sqlite(path), jobs });
    assert.deepEqual(await second.awaitWorkflowInstance(held.instanceId), { m: "done" });
  });

  test("10.4 its reduce waits while the instance is paused", async (t) => {
    const gate = new Gate();
    let started = 0;
    const held = defineJob("held", async () => {
      started++;
      await gate.opened;
    });
    let reduced = 0;
    const reduce = defineJob("reduce", () => ++reduced);
    const engine = await startEngine(t, { jobs: [held, reduce] });
    const run = await engine.submitWorkflow(workflow("w", task("m", "held").withMap([1]).withReduce("reduce")));
    await until(() => started === 1);
    await engine.pauseWorkflowInstance(run.instanceId);
    gate.open();
    await untilInstance(engine, run.instanceId, ({ status }) => status === "Paused");
    assert.equal(reduced, 0);
    await engine.resumeWorkflowInstance(run.instanceId);
    assert.deepEqual(await run.result(), { m: 1 });
  });

  test("10.4 its reduce reads results in a thread, and large ones in pages of their own", async (t) => {
    const large = defineJob("large", (item: number) => ({ item, text: "x".repeat(1_500_000) }));
    const lengths = defineJob("lengths", async (_: unknown, ctx) => {
      const found: number[] = [];
      for await (const { output } of ctx.results()) found.push((output as { text: string }).text.length);
      return found;
    });
    const engine = await startEngine(t, { jobs: [halver().job, sumInThread, large, lengths] });
    const inThread = await engine.submitWorkflow(
      workflow("w", task("m", "half").withMap(numbers(450)).withReduce(sumInThread)),
    );
    assert.deepEqual(await inThread.result(), { m: { sum: 50_512.5 } });
    const ofLarge = await engine.submitWorkflow(
      workflow("w2", task("m", "large").withMap([1, 2, 3]).withReduce(lengths)),
    );
    assert.deepEqual(await ofLarge.result(), { m: [1_500_000, 1_500_000, 1_500_000] });
  });

  test("10.4 its reduce reads results on a worker of another member than the owner of the instance", async (t) => {
    const { job } = halver();
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [job, summary], remoteWorkers: true });
    const worker = await RigWorker.start(t, rig, { members: [b], jobs: [job, summary], tags: ["far"] });
    const half = task("m", "half").withMap(numbers(300), { concurrency: 20 }).withReduce("summary");
    const flow = workflow("far", half.withWorkerTags("far"));
    for (const member of [a, b]) {
      const id = await rig.idOn(member);
      await rig.clock.until(a.engine.submitWorkflow(flow, { instanceId: id }));
      const result = await rig.clock.until(b.engine.awaitWorkflowInstance(id));
      assert.deepEqual(result, { m: { count: 300, sum: 22_425, failed: [] } });
      const { hooks } = await rig.clock.until(a.engine.listMapItems(id, "m", { limit: 1 }));
      assert.ok(hooks[0]?.worker?.endsWith(worker.worker.id));
    }
  });

  test("10.4 the results are for reduces only, and what cannot be is refused", async (t) => {
    const engine = await startEngine(t, { jobs: [halver().job, summary] });
    for (const given of [task("t", "summary"), task("t", "summary").withMap([1])]) {
      const run = await engine.submitWorkflow(workflow(`w${given.build().items?.length}`, given));
      await assert.rejects(run.result(), says("WORKFLOW_FAILED", "has no results to read"));
    }
    assert.throws(() => task("m", "half").withReduce("summary").build(), says("TASK_INVALID", "withMap"));
    assert.throws(
      () => task("m", "half").withMap([1]).withReduce(" ").build(),
      says("TASK_INVALID", "map.reduce.jobName"),
    );
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("m", "half").withMap([1]).withReduce("nobody"))),
      says("JOB_MISSING", "nobody"),
    );
    const node = { nodeId: 1, nodeName: "m", jobName: "half", map: { items: [2], reduce: { jobName: "summary" } } };
    for (const executeType of [3, "MAP_REDUCE", undefined]) {
      const spec = { nodes: [{ ...node, ...(executeType !== undefined && { executeType }) }] };
      const run = await engine.submitWorkflow(Workflow.fromJSON(spec, { name: `from ${executeType}` }));
      assert.deepEqual(await run.result(), { m: { count: 1, sum: 1, failed: [] } });
    }
    assert.throws(
      () => Workflow.fromJSON({ nodes: [{ ...node, executeType: 4 }] }, { name: "w" }),
      says("WORKFLOW_INVALID", "MAP_REDUCE"),
    );
    assert.throws(
      () => Workflow.fromJSON({ nodes: [{ ...node, map: { items: [1] }, executeType: 3 }] }, { name: "w" }),
      says("WORKFLOW_INVALID", "map.reduce"),
    );
  });
});
