/** Spec §10.4: a broadcast runs its job once on every eligible worker. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, type Engine, type MapItem, Workflow } from "../../src/index.ts";
import { EngineClusterRig } from "./engine-cluster-rig.ts";
import { Gate, says, startEngine, task, workflow } from "./rig.ts";
import { RigWorker } from "./worker-rig.ts";

const where = defineJob("where", (_: unknown, ctx) => ctx.item);

const tally = defineJob("tally", async (_: unknown, ctx) => {
  const found: unknown[] = [];
  for await (const { item, status, failure } of ctx.results()) found.push([item, failure?.type ?? status]);
  return found;
});

async function itemsOf(engine: Engine, instanceId: string): Promise<readonly MapItem[]> {
  return (await engine.listMapItems(instanceId, "b")).items;
}

function idOf({ worker }: RigWorker): string {
  return worker.id;
}

/** Two members with a pool each, and a worker connected to each. */
async function stage(t: Parameters<typeof startEngine>[0], jobs = [where, tally]) {
  const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs, remoteWorkers: true });
  const x = await RigWorker.start(t, rig, { members: [a], jobs, tags: ["gpu"] });
  const y = await RigWorker.start(t, rig, { members: [b], jobs });
  return { rig, a, b, x, y };
}

describe("10.4 a broadcast", () => {
  test("10.4 runs its job once on every worker that has it: pools of all members and remote workers", async (t) => {
    const { rig, a, b, x, y } = await stage(t);
    const all = workflow("all", task("b", "where").withBroadcast());
    for (const member of [a, b]) {
      const id = await rig.idOn(member);
      await rig.clock.until(a.engine.submitWorkflow(all, { instanceId: id }));
      const result = (await rig.clock.until(b.engine.awaitWorkflowInstance(id)))["b"] as Record<string, unknown>;
      const workers = [a.id, b.id, idOf(x), idOf(y)].sort();
      assert.deepEqual(result, { total: 4, succeeded: 4, failed: 0, results: workers });
      const items = await rig.clock.until(itemsOf(a.engine, id));
      for (const { item, worker } of items) assert.ok(worker === item || worker?.endsWith(`/${String(item)}`));
    }
  });

  test("10.4 tags select workers; a worker that comes later does not run it", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", async () => gate.opened);
    const { rig, a, b, x, y } = await stage(t, [where, slow]);
    const tagged = workflow("tagged", task("b", "where").withBroadcast().withWorkerTags("gpu"));
    await rig.clock.until(a.engine.submitWorkflow(tagged, { instanceId: "i" }));
    const result = await rig.clock.until(a.engine.awaitWorkflowInstance("i"));
    assert.deepEqual(result, { b: { total: 1, succeeded: 1, failed: 0, results: [idOf(x)] } });

    const held = workflow("held", task("b", "slow").withBroadcast().withTimeout(1000));
    await rig.clock.until(a.engine.submitWorkflow(held, { instanceId: "j" }));
    await rig.clock.advance(5000);
    await RigWorker.start(t, rig, { members: [a], jobs: [slow] });
    await rig.clock.advance(30_000);
    gate.open();
    await rig.clock.until(a.engine.awaitWorkflowInstance("j"));
    assert.deepEqual(
      (await rig.clock.until(itemsOf(a.engine, "j"))).map(({ item }) => item),
      [a.id, b.id, idOf(x), idOf(y)].sort(),
    );
  });

  test("10.4 runs a job before and one after it, once; the one after reads the results of all workers", async (t) => {
    const calls: string[] = [];
    const noted = (name: string) => defineJob(name, (_: unknown, ctx) => void calls.push(`${name} ${ctx.taskName}`));
    const after = defineJob("after", async (params: string, ctx) => {
      const found: unknown[] = [];
      for await (const { status } of ctx.results()) found.push(status);
      return { params, found };
    });
    const engine = await startEngine(t, { jobs: [noted("before"), noted("each"), after] });
    const run = await engine.submitWorkflow(
      workflow("w", task("b", "each").withBroadcast({ before: "before", after: { job: after, params: "p" } })),
    );
    assert.deepEqual(await run.result(), { b: { params: "p", found: ["Success"] } });
    assert.deepEqual(calls, ["before b[before]", "each b[0]"]);
    const { hooks } = await engine.listMapItems(run.instanceId, "b");
    assert.deepEqual(
      hooks.map(({ name, status }) => [name, status]),
      [
        ["before", "Success"],
        ["after", "Success"],
      ],
    );
  });

  test("10.4 runs on no worker if the job before it fails; a retry begins with that", async (t) => {
    let isBroken = true;
    const calls: string[] = [];
    const before = defineJob("before", () => {
      calls.push("before");
      if (isBroken) throw new Error("not ready");
    });
    const each = defineJob("each", () => void calls.push("each"));
    const engine = await startEngine(t, { jobs: [before, each] });
    const run = await engine.submitWorkflow(workflow("w", task("b", "each").withBroadcast({ before, after: "each" })));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "its before job failed: not ready"));
    assert.deepEqual(calls, ["before"]);
    isBroken = false;
    await engine.retryWorkflowInstance(run.instanceId);
    await run.result();
    assert.deepEqual(calls, ["before", "before", "each", "each"]);
  });

  test("10.4 a worker that leaves before or during it fails for that worker; the others' results count", async (t) => {
    const gates = new Map<string, Gate>();
    const held = defineJob("held", async (_: unknown, ctx) => {
      const gate = new Gate();
      gates.set(String(ctx.item), gate);
      await gate.opened;
      return "done";
    });
    const { rig, a, b, x, y } = await stage(t, [held, tally]);
    const flow = workflow("w", task("b", "held").withBroadcast({ after: "tally" }).withTimeout(1000));
    await rig.clock.until(a.engine.submitWorkflow(flow, { instanceId: "i" }));
    const untilHeld = async (): Promise<void> => {
      while (gates.size < 4) await rig.clock.advance(100);
    };
    await untilHeld();
    // One worker has gone for good while its job ran; another goes after its job has ended.
    x.kill();
    gates.get(idOf(y))?.open();
    await rig.clock.advance(1000);
    y.kill();
    gates.get(a.id)?.open();
    gates.get(b.id)?.open();
    const result = await rig.clock.until(a.engine.awaitWorkflowInstance("i"));
    const told = new Map((result["b"] as [string, string][]).map(([worker, how]) => [worker, how]));
    assert.deepEqual(
      [idOf(x), idOf(y), a.id, b.id].map((worker) => told.get(worker)),
      ["WORKER_GONE", "Success", "Success", "Success"],
    );
  });

  test("10.4 a worker that stops while its job runs, and gives it back, fails for that worker", async (t) => {
    const gate = new Gate();
    const started: unknown[] = [];
    const held = defineJob("held", async (_: unknown, ctx) => {
      started.push(ctx.item);
      const aborted = Promise.withResolvers<void>();
      ctx.signal.addEventListener("abort", () => aborted.reject(ctx.signal.reason));
      await Promise.race([gate.opened, aborted.promise]);
      return "done";
    });
    const { rig, a, b, x, y } = await stage(t, [held, tally]);
    const flow = workflow("w", task("b", "held").withBroadcast({ after: "tally" }).withTimeout(1000));
    await rig.clock.until(a.engine.submitWorkflow(flow, { instanceId: "i" }));
    while (started.length < 4) await rig.clock.advance(100);
    await rig.clock.until(Promise.all([x.worker.stop(), y.worker.stop()]));
    await rig.clock.advance(60_000);
    gate.open();
    const result = await rig.clock.until(a.engine.awaitWorkflowInstance("i"));
    const told = new Map((result["b"] as [string, string][]).map(([worker, how]) => [worker, how]));
    assert.deepEqual(
      [idOf(x), idOf(y), a.id, b.id].map((worker) => told.get(worker)),
      ["WORKER_GONE", "WORKER_GONE", "Success", "Success"],
    );
  });

  test("10.4 a worker that moves to another member runs it there", async (t) => {
    const gate = new Gate();
    const held = defineJob("held", async (_: unknown, ctx) => {
      await gate.opened;
      return ctx.item;
    });
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [held], runsJobs: false, remoteWorkers: true });
    const x = await RigWorker.start(t, rig, { members: [a, b], jobs: [held] });
    const flow = workflow("w", task("b", "held").withBroadcast().withTimeout(1000));
    await rig.clock.until(a.engine.submitWorkflow(flow, { instanceId: "i" }));
    await rig.clock.advance(3000);
    await x.goTo(b);
    await rig.clock.advance(60_000);
    gate.open();
    const result = await rig.clock.until(a.engine.awaitWorkflowInstance("i"));
    assert.deepEqual(result, { b: { total: 1, succeeded: 1, failed: 0, results: [idOf(x)] } });
  });

  test("10.4 fails where no worker is eligible, and retries that; what cannot be is refused", async (t) => {
    const engine = await startEngine(t, { jobs: [where, tally] });
    const run = await engine.submitWorkflow(
      workflow("w", task("b", "where").withBroadcast().withWorkerTags("none").withRetryCount(1)),
    );
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "no worker has job"));
    const { tasks } = await run.getStatus();
    assert.deepEqual([tasks[0]?.attempt, tasks[0]?.failure?.type], [2, "WORKER_MISSING"]);
    for (const executeType of [2, "BROADCAST"]) {
      const spec = { nodes: [{ nodeId: 1, nodeName: "b", jobName: "where", executeType }] };
      const bare = await engine.submitWorkflow(Workflow.fromJSON(spec, { name: `bare ${executeType}` }));
      assert.equal(((await bare.result())["b"] as { succeeded: number }).succeeded, 1);
    }
    const refused: [() => unknown, string][] = [
      [() => task("b", "where").withBroadcast().withMap([1]).build(), "not both"],
      [() => task("b", "where").withBroadcast().withWorker("x").build(), "designates none"],
      [() => task("b", "where").withBroadcast({ concurrency: 0 }).build(), "broadcast.concurrency"],
      [() => task("b", "where").withBroadcast({ before: " " }).build(), "broadcast.before.jobName"],
    ];
    for (const [build, words] of refused) assert.throws(build, says("TASK_INVALID", words));
  });
});
