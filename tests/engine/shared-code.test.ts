/** Spec §8.4: code that only workers of other members have; decision 0078. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, type Engine, type WorkflowContext } from "../../src/index.ts";
import { buses, EngineClusterRig, lookMs, type RigMember } from "./engine-cluster-rig.ts";
import { RigWorker } from "./worker-rig.ts";

const work = defineJob("work", (n: number) => n + 1);
const counting = defineWorkflow("counting", async (ctx: WorkflowContext, until: number) => {
  let count = 0;
  ctx.onQuery("count", () => count);
  ctx.onUpdate("add", (n: number) => (count += n));
  while (count < until) count = await ctx.run(work, count);
  const extra = await ctx.waitForEvent<number>("extra");
  return count + extra;
});
const long = defineWorkflow("long", async (ctx: WorkflowContext, steps: number) => {
  const text = "x".repeat(20_000);
  for (let i = 0; i < steps; i++) await ctx.run("echo", text);
  await ctx.waitForEvent("go");
  return steps;
});
const echo = defineJob("echo", (text: string) => text);
const workflows = [counting, long];
const options = { remoteWorkers: true, jobs: [work, echo] };

function at<T>(rig: EngineClusterRig, member: RigMember, call: (engine: Engine) => Promise<T>): Promise<T> {
  return rig.clock.until(call(member.engine));
}

/** Starts an instance that lives on the member. */
async function startOn(rig: EngineClusterRig, member: RigMember, name: string, input: number): Promise<string> {
  const instanceId = await rig.idOn(member, name);
  // It learns of workflows that were announced to another member.
  while (member.engine.findWorkflow(name) === undefined) await rig.clock.advance(100);
  const known = member.engine.findWorkflow(name) as typeof counting;
  await at(rig, member, (engine) => engine.startWorkflow(known, input, { instanceId }));
  return instanceId;
}

for (const [bus, how] of buses) {
  describe(`8.4 code on a worker of another member, ${how}`, () => {
    test("8.4 runs to the result, and answers queries and updates", async (t) => {
      const [rig, a, b] = await EngineClusterRig.start(t, 2, { ...options, bus });
      await RigWorker.start(t, rig, { members: [b], jobs: [], workflows });
      const id = await startOn(rig, a, "counting", 3);
      await rig.until(a, id, ({ tasks }) => tasks.filter(({ status }) => status === "Success").length === 3);
      assert.equal(await at(rig, a, (engine) => engine.updateWorkflowInstance(id, "add", 10)), 13);
      assert.equal(await at(rig, b, (engine) => engine.queryWorkflowInstance(id, "count")), 13);
      await at(rig, b, (engine) => engine.raiseEvent(id, "extra", 7));
      assert.equal(await at(rig, a, (engine) => engine.awaitWorkflowInstance<number>(id)), 20);
    });
  });
}

describe("8.4 code on workers of other members", () => {
  test("8.4 an instance says that no worker of the cluster has its code, and goes on when one has", async (t) => {
    const [rig, a, b] = await EngineClusterRig.start(t, 2, options);
    const first = await RigWorker.start(t, rig, { members: [b], jobs: [], workflows });
    await rig.clock.until(first.worker.stop());
    const id = await startOn(rig, a, "counting", 1);
    await rig.until(a, id, ({ attention }) => attention?.includes("no connected worker has it") === true);
    await RigWorker.start(t, rig, { members: [b], jobs: [], workflows });
    await rig.until(a, id, ({ tasks }) => tasks[0]?.status === "Success");
  });

  test("8.4 the member in between dies: a worker of a third one goes on", async (t) => {
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, options);
    const worker = await RigWorker.start(t, rig, { members: [b], jobs: [], workflows });
    const id = await startOn(rig, a, "counting", 1);
    await rig.until(a, id, ({ tasks }) => tasks[0]?.status === "Success");
    worker.mute();
    await at(rig, a, (engine) => engine.raiseEvent(id, "extra", 1));
    await rig.clock.advance(100);
    b.kill();
    await RigWorker.start(t, rig, { members: [c], jobs: [], workflows });
    await rig.until(a, id, ({ status }) => status === "Success");
  });

  test("8.4 a worker that is lost there counts: code that ends its workers is quarantined", async (t) => {
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { ...options, maxInterruptions: 1 });
    const workers: RigWorker[] = [];
    const poison = defineWorkflow("poison", async (ctx: WorkflowContext) => {
      for (const worker of workers) worker.kill();
      await ctx.sleep(1);
    });
    const start = async (): Promise<void> =>
      void workers.push(await RigWorker.start(t, rig, { members: [b], jobs: [], workflows: [poison] }));
    await start();
    const id = await startOn(rig, a, "poison", 0);
    await rig.clock.advance(lookMs);
    assert.equal((await rig.rows())[0]?.quarantined ?? undefined, undefined);
    await start();
    await rig.clock.advance(150_000);
    const [row] = await rig.rows();
    assert.equal(row?.id, id);
    assert.match(row.quarantined ?? "", /ended or blocked its worker 2 times at step 0/);
  });

  test("8.4 a worker that has gone to a third member answers there", async (t) => {
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, options);
    const worker = await RigWorker.start(t, rig, { members: [b], jobs: [], workflows });
    const id = await startOn(rig, a, "counting", 1);
    await rig.until(a, id, ({ tasks }) => tasks[0]?.status === "Success");
    worker.mute();
    await at(rig, a, (engine) => engine.raiseEvent(id, "extra", 1));
    await rig.clock.advance(100);
    await worker.leaveFor(c);
    // Sooner than the worker would be lost.
    await rig.until(a, id, ({ status }) => status === "Success", 30_000);
  });

  test("8.4 a shard moves while the question is open: the next owner asks", async (t) => {
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, options);
    const worker = await RigWorker.start(t, rig, { members: [b], jobs: [], workflows });
    const id = await startOn(rig, a, "counting", 1);
    await rig.until(a, id, ({ tasks }) => tasks[0]?.status === "Success");
    worker.mute();
    await at(rig, b, (engine) => engine.raiseEvent(id, "extra", 1));
    await rig.clock.advance(100);
    a.kill();
    await worker.goTo(b);
    await rig.until(c, id, ({ status }) => status === "Success");
  });

  test("8.4 a history that is too long for the bus is read from the store", async (t) => {
    const [rig, a, b] = await EngineClusterRig.start(t, 2, options);
    const worker = await RigWorker.start(t, rig, { members: [b], jobs: [], workflows, runsMax: 0 });
    const id = await startOn(rig, a, "long", 30);
    const done = await rig.until(
      a,
      id,
      ({ tasks }) => tasks.filter(({ status }) => status === "Success").length === 30,
    );
    assert.equal(done.attention, undefined);
    worker.kill();
    await RigWorker.start(t, rig, { members: [b], jobs: [], workflows, runsMax: 0 });
    await at(rig, b, (engine) => engine.raiseEvent(id, "go"));
    assert.equal(await at(rig, a, (engine) => engine.awaitWorkflowInstance<number>(id)), 30);
  });

  test("8.4 a child that only a worker of a third member has is found by the owner", async (t) => {
    const leaf = defineWorkflow("leaf", (_ctx: WorkflowContext, n: number) => Promise.resolve(2 * n));
    const root = defineWorkflow(
      "root",
      async (ctx: WorkflowContext, n: number) => (await ctx.callChild("leaf", n)) as number,
    );
    const [rig, a, b, c] = await EngineClusterRig.start(t, 3, options);
    await RigWorker.start(t, rig, { members: [b], jobs: [], workflows: [root] });
    while (a.engine.findWorkflow("root") === undefined) await rig.clock.advance(100);
    await RigWorker.start(t, rig, { members: [c], jobs: [], workflows: [leaf] });
    while (c.engine.findWorkflow("leaf") === undefined) await rig.clock.advance(1);
    assert.equal(a.engine.findWorkflow("leaf"), undefined);
    const id = await startOn(rig, a, "root", 21);
    assert.equal(await at(rig, a, (engine) => engine.awaitWorkflowInstance<number>(id)), 42);
  });

  test("8.4 code in the owner's process starts a child that only a worker of another member has", async (t) => {
    const leaf = defineWorkflow("leaf", (_ctx: WorkflowContext, n: number) => Promise.resolve(2 * n));
    const root = defineWorkflow("root", async (ctx: WorkflowContext, n: number) => await ctx.callChild(leaf, n));
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { ...options, workflows: [root] });
    const id = await startOn(rig, a, "root", 21);
    await rig.until(a, id, ({ attention }) => attention?.includes('child workflow "leaf"') === true);
    await RigWorker.start(t, rig, { members: [b], jobs: [], workflows: [leaf] });
    assert.equal(await at(rig, a, (engine) => engine.awaitWorkflowInstance<number>(id)), 42);
  });
});
