/** Code workflows under orders that come at any moment, and with next to nothing kept in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { hasCode } from "../../src/base/error.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Event } from "../../src/kernel/event.ts";
import { SeededRandom } from "../../src/testing.ts";
import { HandJob } from "./hand-job.ts";
import { World } from "./world.ts";

const chain = defineWorkflow("chain", async (ctx, length: number) => {
  for (let i = 0; i < length; i++) {
    await ctx.run("work", i);
    if (i % 3 === 2) await ctx.sleep(10);
  }
  return length;
});
const parent = defineWorkflow(
  "parent",
  async (ctx) => await ctx.all([ctx.callChild(chain, 4), ctx.callChild(chain, 5)]),
);

type Order = "pause" | "resume" | "terminate" | "cancel" | "event";

/** Refusals are part of the game: another order, or the end, was quicker. */
async function give(engine: Engine, id: string, order: Order): Promise<boolean> {
  const orders: Readonly<Record<Order, () => Promise<void>>> = {
    pause: () => engine.pauseWorkflowInstance(id),
    resume: () => engine.resumeWorkflowInstance(id),
    terminate: () => engine.terminateWorkflowInstance(id, "enough"),
    cancel: () => engine.cancelWorkflowInstance(id, "enough"),
    event: () => engine.raiseEvent(id, "any"),
  };
  try {
    await orders[order]();
    return true;
  } catch (error) {
    if (hasCode(error, "INSTANCE_STATE") || hasCode(error, "INSTANCE_UNKNOWN")) return false;
    throw error;
  }
}

async function historyOf(engine: Engine, id: string): Promise<Event[]> {
  return (await engine.getWorkflowInstanceHistory(id)).flatMap(({ events }) => events);
}

/** One end, and nothing after it; nothing is started while it is paused; no task ends twice. */
function checkHistory(id: string, events: readonly Event[]): void {
  const ends = events.filter(({ type }) => type === "InstanceEnded");
  assert.equal(ends.length, 1, `${id} ends once`);
  assert.equal(events.at(-1)?.type, "InstanceEnded", `${id} does nothing after its end`);
  const ended = new Set<number>();
  let isPaused = false;
  for (const event of events) {
    if (event.type === "InstancePaused") isPaused = true;
    else if (event.type === "InstanceResumed") isPaused = false;
    else if (event.type === "TasksScheduled" || event.type === "TimerFired") assert.ok(!isPaused, `${id} is paused`);
    else if (event.type === "TaskSucceeded" || (event.type === "TaskFailed" && event.retryAt === undefined)) {
      assert.ok(!ended.has(event.task), `task ${event.task} of ${id} ends once`);
      ended.add(event.task);
    }
  }
}

describe("orders that race with results", () => {
  for (let seed = 1; seed <= 6; seed++) {
    test(`seed ${seed}: histories stay well formed, and everybody ends`, async (t) => {
      const random = new SeededRandom(seed);
      const work = new HandJob();
      work.onCall = (call) => {
        const turns = Math.floor(random.next() * 4);
        void later(turns).then(() => call.finish(call.params));
      };
      const world = await World.start(t, { jobs: [work.job], workflows: [chain, parent], idleMax: 3 });
      const { engine, clock } = world;
      const ids = Array.from({ length: 15 }, (_, n) => `i${n}`);
      for (const [n, id] of ids.entries()) {
        if (n % 3 === 0) await engine.startWorkflow(parent, undefined, { instanceId: id });
        else await engine.startWorkflow(chain, 6, { instanceId: id });
      }
      const orders: readonly Order[] = ["pause", "resume", "pause", "resume", "event", "event", "cancel", "terminate"];
      for (let i = 0; i < 150; i++) {
        const order = orders[Math.floor(random.next() * orders.length)] as Order;
        const place = Math.floor(random.next() * ids.length);
        void give(engine, ids[place] as string, order);
        if (random.next() < 0.3) await later(1 + Math.floor(random.next() * 3));
        if (random.next() < 0.05) await clock.advance(10);
      }
      await clock.settle();
      for (const id of ids) await give(engine, id, "resume");
      await clock.until(Promise.allSettled(ids.map((id) => engine.awaitWorkflowInstance(id))));
      await clock.settle();
      const all = await engine.listWorkflowInstances({ limit: 1000 });
      assert.ok(all.length >= ids.length);
      for (const { id } of all) checkHistory(id, await historyOf(engine, id));
      assert.equal(engine.health.quarantinedInstances, 0);
      assert.equal(engine.health.runningTasks, 0);
      assert.equal(engine.health.unfinishedInstances, 0);
    });
  }

  test("terminate and the last result in one turn: the first one in is the end", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], workflows: [chain] });
    const handle = await world.engine.startWorkflow(chain, 1, { instanceId: "x" });
    (await work.call("work")).finish("done");
    const accepted = await give(world.engine, "x", "terminate");
    assert.equal((await handle.getStatus()).status, accepted ? "Terminated" : "Success");
    checkHistory("x", await historyOf(world.engine, "x"));
  });

  test("a result that comes after terminate changes nothing, and is counted", async (t) => {
    const gate = Promise.withResolvers<void>();
    const called = Promise.withResolvers<void>();
    const deaf = defineJob("work", async () => {
      called.resolve();
      await gate.promise;
    });
    const world = await World.start(t, { jobs: [deaf], workflows: [chain] });
    const handle = await world.engine.startWorkflow(chain, 2, { instanceId: "x" });
    await called.promise;
    await handle.terminate("enough");
    const before = await historyOf(world.engine, "x");
    gate.resolve();
    await world.clock.settle();
    assert.deepEqual(await historyOf(world.engine, "x"), before);
    assert.ok(world.engine.health.droppedReports > 0);
  });

  test("pause takes back what has not started, resume hands it out again, and nothing runs twice", async (t) => {
    const work = new HandJob();
    const wide = defineWorkflow("wide", (ctx) =>
      ctx.all([0, 1, 2, 3].map((n) => ctx.run("work", n, { name: `t${n}` }))),
    );
    const world = await World.start(t, { jobs: [work.job], workflows: [wide], poolSize: 2 });
    const handle = await world.engine.startWorkflow(wide, undefined, { instanceId: "x" });
    await work.call("t1");
    await handle.pause();
    for (const call of work.calls) call.finish(call.params);
    await world.clock.advance(10_000);
    assert.deepEqual(work.started, ["t0", "t1"]);
    const waiting = await world.engine.listQueuedTasks({ state: "waiting" });
    assert.deepEqual(
      waiting.map(({ taskName, wait }) => [taskName, wait?.reason]),
      [
        ["t2", "paused"],
        ["t3", "paused"],
      ],
    );
    await handle.resume();
    for (const name of ["t2", "t3"]) (await work.call(name)).finish(name);
    assert.deepEqual(await handle.result(), [0, 1, "t2", "t3"]);
    assert.deepEqual(work.started, ["t0", "t1", "t2", "t3"]);
  });
});

describe("with one idle instance in memory at most", () => {
  /** Takes ten events, one by one, with a step after each. */
  const taker = defineWorkflow("taker", async (ctx, name: string) => {
    let sum = 0;
    ctx.onQuery("sum", () => sum);
    ctx.onUpdate("add", (n: number) => (sum += n));
    for (let n = 0; n < 10; n++) {
      const next = await ctx.waitForEvent<number>("n");
      sum += next;
      await ctx.run("work", `${name} ${n}`);
    }
    return { sum, chance: ctx.random() };
  });

  test("forty instances, addressed in turn, each come back as often as they are spoken to", async (t) => {
    const executed: string[] = [];
    let starts = 0;
    const counted = defineWorkflow("taker", async (ctx, name: string) => {
      starts++;
      return await taker.fn(ctx, name);
    });
    const work = defineJob("work", (text: string) => void executed.push(text));
    const world = await World.start(t, { jobs: [work], workflows: [counted], idleMax: 1 });
    const { engine } = world;
    const ids = Array.from({ length: 40 }, (_, n) => `i${n}`);
    for (const id of ids) await engine.startWorkflow(counted, id, { instanceId: id });
    for (let n = 0; n < 10; n++) {
      await Promise.all(ids.map((id) => engine.raiseEvent(id, "n", n)));
      await world.clock.settle();
      assert.ok(engine.health.instancesInMemory <= 1);
      if (n === 5) {
        const sums = await Promise.all(ids.map((id) => engine.queryWorkflowInstance<number>(id, "sum")));
        assert.deepEqual(new Set(sums), new Set([15]));
        await Promise.all(ids.map((id) => engine.updateWorkflowInstance(id, "add", 100)));
      }
    }
    const results = await Promise.all(ids.map((id) => engine.awaitWorkflowInstance<{ sum: number }>(id)));
    assert.deepEqual(new Set(results.map(({ sum }) => sum)), new Set([145]));
    assert.equal(executed.length, 400);
    assert.equal(new Set(executed).size, 400);
    assert.ok(starts > 400, "they did leave memory");
  });

  test("sleepers that come due at one moment are brought back and go on", async (t) => {
    const sleeper = defineWorkflow("sleeper", async (ctx, n: number) => {
      await ctx.sleep(3_600_000);
      return await ctx.run("work", n);
    });
    const work = defineJob("work", (n: number) => n);
    const world = await World.start(t, { jobs: [work], workflows: [sleeper], idleMax: 1 });
    const handles = [];
    for (let n = 0; n < 300; n++) handles.push(await world.engine.startWorkflow(sleeper, n));
    await world.clock.settle();
    assert.ok(world.engine.health.instancesInMemory <= 1);
    const results = await world.clock.until(Promise.all(handles.map((handle) => handle.result())));
    assert.deepEqual(
      results,
      Array.from({ length: 300 }, (_, n) => n),
    );
  });
});

async function later(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
