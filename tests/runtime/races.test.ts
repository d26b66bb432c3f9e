/**
 * Two things at once to one instance. What happens is decided by which microtask comes first, so each test tries every
 * distance between the two: nobody may be left waiting, whatever the order.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob } from "../../src/authoring/job.ts";
import { HandJob } from "./hand-job.ts";
import { type Watched, watch, World } from "./world.ts";
import { chain, task, workflow } from "./workflows.ts";

const lags = Array.from({ length: 30 }, (_, lag) => lag);

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}

function assertSettled(watched: Readonly<Record<string, Watched<unknown>>>, lag: number): void {
  for (const [name, { state }] of Object.entries(watched)) assert.notEqual(state, "waiting", `${name}, lag ${lag}`);
}

function assertEmpty(world: World): void {
  const { unfinishedInstances, instancesInMemory, quarantinedInstances } = world.engine.health;
  assert.deepEqual(
    { unfinishedInstances, instancesInMemory, quarantinedInstances },
    {
      unfinishedInstances: 0,
      instancesInMemory: 0,
      quarantinedInstances: 0,
    },
  );
}

test("a question about an ended instance, which is reopened and ends again before its reader is told", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job] });
  const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
  (await work.call("a")).fail(new Error("once"));
  await world.clock.settle();
  const late = Promise.withResolvers<void>();
  let reads = 0;
  world.store.afterRead = async (what) => {
    if (what === "findFinished" && reads++ === 0) await late.promise;
  };
  const status = watch(run.getStatus());
  await world.clock.settle();
  const retried = watch(world.engine.retryWorkflowInstance("x"));
  (await work.call("a", { after: 1 })).finish(1);
  await world.clock.settle();
  late.resolve();
  await world.clock.settle();
  assert.deepEqual([retried.state, status.value?.status], ["done", "Success"]);
  assertEmpty(world);
});

describe("an end that is being written", () => {
  test("and questions, orders and waits that come in just then", async (t) => {
    for (const lag of lags) {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const call = await work.call("a");
      const gate = world.store.hold();
      call.finish(1);
      await gate.reached();
      gate.open();
      await ticks(lag);
      const watched = {
        status: watch(run.getStatus()),
        result: watch(run.result()),
        pause: watch(run.pause()),
        terminate: watch(run.terminate()),
        breakpoint: watch(world.engine.getWorkflowInstanceBreakpoint("x")),
        again: watch(run.result()),
      };
      await world.clock.settle();
      assertSettled(watched, lag);
      assert.deepEqual(watched.result.value, { a: 1 });
      assert.deepEqual(watched.again.value, { a: 1 });
      assert.equal(watched.status.value?.status, "Success");
      assert.equal(watched.pause.state, "failed");
      assertEmpty(world);
    }
  });

  test("and a subscriber that asks about it as soon as it hears of it", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    const asked: Watched<unknown>[] = [];
    world.engine.subscribe(() => void asked.push(watch(world.engine.getWorkflowInstanceStatus("x"))));
    const result = watch(run.result());
    (await work.call("a")).finish();
    await world.clock.settle();
    assertSettled({ result, ...Object.fromEntries(asked.entries()) }, 0);
    assert.equal(result.state, "done");
    assertEmpty(world);
  });

  test("and a retry that comes in just then", async (t) => {
    for (const lag of lags) {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const call = await work.call("a");
      const first = watch(run.result());
      const gate = world.store.hold();
      call.fail(new Error("once"));
      await gate.reached();
      gate.open();
      await ticks(lag);
      const retried = watch(world.engine.retryWorkflowInstance("x"));
      const second = watch(run.result());
      await world.clock.settle();
      assert.equal(retried.state, "done", `lag ${lag}`);
      (await work.call("a", { after: 1 })).finish(1);
      await world.clock.settle();
      assertSettled({ first, second }, lag);
      assert.equal((await run.getStatus()).status, "Success");
      assertEmpty(world);
    }
  });

  test("and a new start of the same id", async (t) => {
    for (const lag of lags) {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const call = await work.call("a");
      const first = watch(run.result());
      const gate = world.store.hold();
      call.finish("first");
      await gate.reached();
      gate.open();
      await ticks(lag);
      const options = { instanceId: "x", reuse: true };
      const watched = {
        question: watch(run.getStatus()),
        start: watch(world.engine.submitWorkflow(chain("one", "a"), options)),
        other: watch(world.engine.submitWorkflow(chain("one", "a"), options)),
      };
      await world.clock.settle();
      assertSettled(watched, lag);
      assert.deepEqual(first.value, { a: "first" });
      assert.deepEqual([watched.start.state, watched.other.state].toSorted(), ["done", "failed"], `lag ${lag}`);
      (await work.call("a", { after: 1 })).finish("second");
      assert.deepEqual(await run.result(), { a: "second" });
      const lives = await world.engine.listWorkflowInstances({ idPrefix: "x" });
      assert.deepEqual(
        lives.map(({ generation }) => generation),
        [2, 1],
      );
      assertEmpty(world);
    }
  });

  test("and a purge", async (t) => {
    for (const lag of lags) {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const call = await work.call("a");
      const result = watch(run.result());
      const gate = world.store.hold();
      call.finish(1);
      await gate.reached();
      gate.open();
      await ticks(lag);
      const purged = watch(world.engine.purgeWorkflowInstances({ instanceId: "x" }));
      const question = watch(run.getStatus());
      await world.clock.settle();
      assertSettled({ purged, question, result }, lag);
      assert.equal(purged.value, 1);
      assert.deepEqual(result.value, { a: 1 });
      assert.deepEqual(await world.engine.listWorkflowInstances(), []);
      assertEmpty(world);
    }
  });
});

describe("a stop", () => {
  test("and calls that come in just then: each is answered, one way or the other", async (t) => {
    for (const lag of lags) {
      const work = new HandJob();
      const quick = defineJob("quick", () => 1);
      const world = await World.start(t, { jobs: [work.job, quick] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      await work.call("a");
      const before = {
        submit: watch(world.engine.submitWorkflow(workflow("q", task("q", "quick")), { instanceId: "y" })),
        question: watch(run.getStatus()),
        update: watch(world.engine.updateContext("x", { lag })),
        result: watch(run.result()),
      };
      await ticks(lag);
      const stopped = watch(world.engine.stop());
      await ticks(lag);
      const after = { status: watch(run.getStatus()), result: watch(run.result()) };
      await world.clock.settle();
      assertSettled({ ...before, ...after, stopped }, lag);
      await world.begin();
      await world.clock.settle();
      const known = (await world.engine.listWorkflowInstances()).map(({ id }) => id);
      assert.equal(known.includes("y"), before.submit.state === "done" || known.includes("y"));
      if (before.submit.state === "done") assert.deepEqual(await world.engine.awaitWorkflowInstance("y"), { q: 1 });
      const { context } = await world.engine.getWorkflowInstanceBreakpoint("x");
      if (before.update.state === "done") assert.deepEqual(context, { lag });
    }
  });
});

describe("a load", () => {
  test("and an end, an order and a wait in the middle of it", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: 60_000 });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(600_000);
    assert.equal(world.engine.health.instancesInMemory, 0);
    const slow = Promise.withResolvers<void>();
    world.store.beforeRead = (what) => (what === "loadHistory" ? slow.promise : Promise.resolve());
    const watched = {
      status: watch(run.getStatus()),
      terminate: watch(run.terminate("enough")),
      result: watch(run.result()),
      submit: watch(world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x", reuse: true })),
    };
    await world.clock.advance(120_000);
    slow.resolve();
    await world.clock.settle();
    assertSettled(watched, 0);
    assert.equal(watched.status.value?.status, "Paused");
    assert.equal(watched.terminate.state, "done");
    assert.equal(watched.submit.state, "failed");
    assertEmpty(world);
  });

  test("that fails is tried again by the next who asks", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: 60_000 });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(600_000);
    world.store.readsFail = true;
    await assert.rejects(run.getStatus(), /pulled out/);
    world.store.readsFail = false;
    assert.equal((await run.getStatus()).status, "Paused");
  });
});
