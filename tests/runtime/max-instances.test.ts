/** The maximum of concurrent instances of one workflow, and what happens above it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import type { OverflowPolicy } from "../../src/kernel/dag/dag-spec.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { type HandCall, HandJob } from "./hand-job.ts";
import { World } from "./world.ts";
import { builder, chain, nested, task, workflow } from "./workflows.ts";

function limited(max: number, policy?: OverflowPolicy): Workflow {
  return builder("limited", task("a")).withMaxInstances(max, policy).build();
}

async function statuses(world: World, ids: readonly string[]): Promise<string[]> {
  return await Promise.all(ids.map(async (id) => (await world.engine.getWorkflowInstanceStatus(id)).status));
}

/** Leaves `i0` reopened while `i1` runs, under a maximum of 1; returns the call of `i0`. */
async function reopenAboveTheMaximum(world: World, work: HandJob): Promise<HandCall> {
  await world.engine.submitWorkflow(limited(1), { instanceId: "i0" });
  (await work.call("a", { instanceId: "i0" })).fail(new Error("no"));
  await assert.rejects(world.engine.awaitWorkflowInstance("i0"));
  await world.engine.submitWorkflow(limited(1), { instanceId: "i1" });
  await world.engine.retryWorkflowInstance("i0");
  await work.call("a", { instanceId: "i1" });
  return await work.call("a", { instanceId: "i0", after: 1 });
}

describe("above the maximum", () => {
  test("instances queue and start in order of arrival", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const ids = ["i0", "i1", "i2", "i3"];
    for (const id of ids) await world.engine.submitWorkflow(limited(2), { instanceId: id });
    assert.deepEqual(await statuses(world, ids), ["Running", "Running", "Ready", "Ready"]);
    (await work.call("a", { instanceId: "i1" })).finish(1);
    await world.clock.settle();
    assert.deepEqual(await statuses(world, ids), ["Running", "Success", "Running", "Ready"]);
    await world.engine.terminateWorkflowInstance("i0");
    await world.clock.settle();
    assert.deepEqual(await statuses(world, ids), ["Terminated", "Success", "Running", "Running"]);
    for (const id of ["i2", "i3"]) (await work.call("a", { instanceId: id })).finish(1);
    for (const id of ["i2", "i3"]) assert.deepEqual(await world.engine.awaitWorkflowInstance(id), { a: 1 });
  });

  test("one that is terminated while it waits never runs, and the next one is not held up", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    for (const id of ["i0", "i1", "i2"]) await world.engine.submitWorkflow(limited(1), { instanceId: id });
    await world.engine.terminateWorkflowInstance("i1");
    (await work.call("a", { instanceId: "i0" })).finish(1);
    await work.call("a", { instanceId: "i2" });
    assert.equal(work.calls.length, 2);
  });

  test("with skip it ends at once as Terminated, with fail as Failed", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(limited(1, "skip"), { instanceId: "i0" });
    const skipped = await world.engine.submitWorkflow(limited(1, "skip"), { instanceId: "i1" });
    await assert.rejects(skipped.result(), (error) => hasCode(error, "WORKFLOW_TERMINATED"));
    const failed = await world.engine.submitWorkflow(limited(1, "fail"), { instanceId: "i2" });
    await assert.rejects(failed.result(), /too many instances\(2>1\)/);
    assert.equal(work.calls.length, 1);
    (await work.call("a", { instanceId: "i0" })).finish(1);
    await world.engine.awaitWorkflowInstance("i0");
    await world.engine.submitWorkflow(limited(1, "fail"), { instanceId: "i3" });
    await work.call("a", { instanceId: "i3" });
  });

  test("3.10 a reopened instance is not held up, but counts: others wait until fewer run than the maximum", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const again = await reopenAboveTheMaximum(world, work);
    await world.engine.submitWorkflow(limited(1), { instanceId: "i2" });
    const refused = await world.engine.submitWorkflow(limited(1, "fail"), { instanceId: "i3" });
    await assert.rejects(refused.result(), /too many instances\(4>1\)/);
    (await work.call("a", { instanceId: "i1" })).finish(1);
    await world.engine.awaitWorkflowInstance("i1");
    await world.clock.settle();
    assert.deepEqual(await statuses(world, ["i0", "i2"]), ["Running", "Ready"], "the reopened one has the place");
    again.finish(1);
    (await work.call("a", { instanceId: "i2" })).finish(1);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("i2"), { a: 1 });
  });

  test("3.10 every kind of reopening is allowed above it, also of an instance that it had refused", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const { engine } = world;
    await engine.submitWorkflow(limited(1, "skip"), { instanceId: "i0" });
    for (const id of ["retried", "rerun"]) await engine.submitWorkflow(limited(1, "skip"), { instanceId: id });
    await engine.retryWorkflowInstance("retried");
    await engine.rerunWorkflowInstance("rerun", "a");
    assert.deepEqual(await statuses(world, ["i0", "retried", "rerun"]), ["Running", "Running", "Running"]);
    const call = await work.call("a", { instanceId: "i0" });
    for (const id of ["retried", "rerun"]) (await work.call("a", { instanceId: id })).fail(new Error("no"));
    for (const id of ["retried", "rerun"]) await assert.rejects(engine.awaitWorkflowInstance(id));
    await engine.succeedTask("retried", "a");
    await engine.skipTask("rerun", "a");
    assert.deepEqual(await statuses(world, ["i0", "retried", "rerun"]), ["Running", "Success", "Success"]);
    const refused = await engine.submitWorkflow(limited(1, "skip"));
    await assert.rejects(refused.result(), /too many instances\(2>1\)/);
    call.finish(1);
    await engine.awaitWorkflowInstance("i0");
  });

  test("an ended instance that is in memory takes up no place", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(limited(1), { instanceId: "i0" });
    (await work.call("a", { instanceId: "i0" })).finish(1);
    await world.engine.awaitWorkflowInstance("i0");
    const gate = world.store.hold();
    const other = world.engine.submitWorkflow(chain("other", "x"));
    await gate.reached();
    const refused = world.engine.retryWorkflowInstance("i0");
    await world.clock.settle();
    const started = world.engine.submitWorkflow(limited(1), { instanceId: "i1" });
    await world.clock.settle();
    gate.open();
    await assert.rejects(refused, (error) => hasCode(error, "INSTANCE_STATE"));
    await Promise.all([other, started]);
    assert.deepEqual(await statuses(world, ["i1"]), ["Running"]);
  });

  test("children of a workflow with a maximum queue too", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const outer = workflow("outer", nested("m", limited(1)), nested("n", limited(1)));
    const run = await world.engine.submitWorkflow(outer, { instanceId: "x" });
    (await work.call("a")).finish(1);
    (await work.call("a", { after: 1 })).finish(2);
    const result = await run.result();
    assert.deepEqual(Object.keys(result).toSorted(), ["m", "n"]);
  });
});

for (const [how, restart] of Object.entries({
  "a restart": (world: World) => world.restart(),
  "a crash": (world: World) => world.crash(),
})) {
  describe(`after ${how}`, () => {
    test("those that waited still wait, in the same order, and are admitted one by one", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      const ids = ["i0", "i1", "i2"];
      for (const id of ids) await world.engine.submitWorkflow(limited(1), { instanceId: id });
      await work.call("a", { instanceId: "i0" });
      await restart(world);
      assert.deepEqual(await statuses(world, ids), ["Running", "Ready", "Ready"]);
      (await work.call("a", { instanceId: "i0", after: 1 })).finish(1);
      (await work.call("a", { instanceId: "i1" })).finish(1);
      (await work.call("a", { instanceId: "i2" })).finish(1);
      for (const id of ids) assert.deepEqual(await world.engine.awaitWorkflowInstance(id), { a: 1 });
      assert.deepEqual(
        work.calls.map(({ ctx }) => ctx.instanceId),
        ["i0", "i0", "i1", "i2"],
      );
    });

    test("a reopened instance above the maximum still counts", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      await reopenAboveTheMaximum(world, work);
      await world.engine.submitWorkflow(limited(1), { instanceId: "i2" });
      await restart(world);
      (await work.call("a", { instanceId: "i1", after: 1 })).finish(1);
      await world.engine.awaitWorkflowInstance("i1");
      await world.clock.settle();
      assert.deepEqual(await statuses(world, ["i0", "i2"]), ["Running", "Ready"]);
      (await work.call("a", { instanceId: "i0", after: 2 })).finish(1);
      (await work.call("a", { instanceId: "i2" })).finish(1);
      assert.deepEqual(await world.engine.awaitWorkflowInstance("i2"), { a: 1 });
    });

    test("the maximum holds for new ones", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      await world.engine.submitWorkflow(limited(1, "fail"), { instanceId: "i0" });
      await work.call("a");
      await restart(world);
      const refused = await world.engine.submitWorkflow(limited(1, "fail"), { instanceId: "i1" });
      await assert.rejects(refused.result(), /too many instances/);
    });
  });
}

test("a place that became free just before a crash is given away after it", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job] });
  for (const id of ["i0", "i1"]) await world.engine.submitWorkflow(limited(1), { instanceId: id });
  const call = await work.call("a", { instanceId: "i0" });
  await world.clock.advance(1000);
  const gate = world.store.hold("after");
  call.finish(1);
  await gate.reached();
  await world.crash();
  (await work.call("a", { instanceId: "i1" })).finish(1);
  assert.deepEqual(await world.engine.awaitWorkflowInstance("i1"), { a: 1 });
});

test("an engine starts although a waiting instance is quarantined, and others get its place", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job] });
  for (const id of ["i0", "i1", "i2"]) await world.engine.submitWorkflow(limited(1), { instanceId: id });
  world.store.poison("i1");
  await assert.rejects(world.engine.updateContext("i1", { y: 1 }), (error) => hasCode(error, "STORE_DATA"));
  world.store.faultOf = undefined;
  await world.restart();
  assert.equal(world.engine.health.quarantinedInstances, 1);
  (await work.call("a", { instanceId: "i0", after: 1 })).finish(1);
  (await work.call("a", { instanceId: "i2" })).finish(2);
  assert.deepEqual(await world.engine.awaitWorkflowInstance("i2"), { a: 2 });
  await world.engine.resumeWorkflowInstance("i1");
  (await work.call("a", { instanceId: "i1" })).finish(3);
  assert.deepEqual(await world.engine.awaitWorkflowInstance("i1"), { a: 3 });
});

test("one that is quarantined while it waits holds nobody up", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job] });
  for (const id of ["i0", "i1", "i2"]) await world.engine.submitWorkflow(limited(1), { instanceId: id });
  world.store.poison("i1");
  await assert.rejects(world.engine.updateContext("i1", { y: 1 }), (error) => hasCode(error, "STORE_DATA"));
  world.store.faultOf = undefined;
  (await work.call("a", { instanceId: "i0" })).finish(1);
  await work.call("a", { instanceId: "i2" });
  await world.engine.resumeWorkflowInstance("i1");
  await world.clock.settle();
  assert.deepEqual(await statuses(world, ["i1", "i2"]), ["Ready", "Running"], "it waits again");
  (await work.call("a", { instanceId: "i2" })).finish(2);
  await work.call("a", { instanceId: "i1" });
});

test("a waiting instance that was not in memory is admitted when the store can be read again", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job], idleMs: 60_000 });
  const long = builder("limited", task("a").withTimeout(1e6)).withMaxInstances(1).build();
  for (const id of ["i0", "i1"]) await world.engine.submitWorkflow(long, { instanceId: id });
  const call = await work.call("a", { instanceId: "i0" });
  await world.clock.advance(600_000);
  assert.equal(world.engine.health.instancesInMemory, 1);
  world.store.readsFail = true;
  call.finish(1);
  await world.clock.advance(10_000);
  world.store.readsFail = false;
  await world.clock.advance(10_000);
  (await work.call("a", { instanceId: "i1" })).finish(2);
  assert.deepEqual(await world.engine.awaitWorkflowInstance("i1"), { a: 2 });
});

test("a workflow without a maximum is never held up", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job], poolSize: 10 });
  for (let place = 0; place < 10; place++) await world.engine.submitWorkflow(chain("free", "a"));
  await world.clock.settle();
  assert.equal(work.calls.length, 10);
});
