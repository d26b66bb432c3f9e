/** Engines that stop, or are killed, on one store, and go on upon another. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { EngineError } from "../../src/base/error.ts";
import { Engine, inProcessBus, type InstanceView } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { builder, chain, nested, task, workflow } from "../runtime/workflows.ts";
import { World } from "../runtime/world.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const hourMs = 3_600_000;
const shards = 16;

/** Fails at first, and works when it is tried again, an hour later. */
const flaky = defineJob("flaky", (_: unknown, { attempt }) => {
  if (attempt === 1) throw new Error("not yet");
  return attempt;
});
const large = defineJob("large", () => "x".repeat(10_000));
const broken = defineJob("broken", () => {
  throw new EngineError("TASK_INVALID", "it never works");
});

const outer = workflow(
  "outer",
  nested("n", workflow("middle", nested("m", chain("inner", "a", "b")))),
  task("after").withDependency("n"),
);
const waiting = workflow("waiting", task("f", "flaky").withRetryCount(1).withRetryPolicy({ initialMs: hourMs }));
const timed = builder("timed", task("t").withTimeout(36_000)).withTimeout(7200).build();
const limited = builder("limited", task("l")).withMaxInstances(1).build();
const bulky = workflow("bulky", task("big", "large"), task("next").withDependency("big"));

/** An engine on a SQLite store, in the hands of the test. */
async function start(t: TestContext, work: HandJob): Promise<World> {
  return await World.start(t, { inner: new SqliteStore({ file: ":memory:" }), jobs: [work.job, flaky, large, broken] });
}

/** The members of a cluster on another store, to which everything has moved. */
async function moved(t: TestContext, world: World, work: HandJob): Promise<{ engine: Engine; store: Store }> {
  const store = memoryStore();
  await store.open();
  await importInstances(store, exportInstances(world.disk.inner), { shards });
  const bus = inProcessBus();
  const engines = ["x", "y"].map((name) => {
    const storage = store.connect();
    const jobs = [work.job, flaky, large, broken];
    return new Engine({ storage, jobs, clock: world.clock, logger: new LogBook(), cluster: { shards, bus, name } });
  });
  for (const engine of engines) {
    await world.clock.until(engine.start());
    t.after(() => world.clock.until(engine.stop()));
  }
  return { engine: engines[0] as Engine, store };
}

async function view(clock: TestClock, engine: Engine, id: string): Promise<InstanceView> {
  return await clock.until(engine.getWorkflowInstanceStatus(id));
}

async function historyOf(clock: TestClock, engine: Engine, id: string): Promise<string[]> {
  const turns = await clock.until(engine.getWorkflowInstanceHistory(id));
  return turns.flatMap(({ events }) => events.map(({ type }) => type));
}

describe("after a move from SQLite to a cluster of 16 shards", () => {
  for (const isKilled of [false, true]) {
    test(`instances of every kind go on where they ${isKilled ? "were when their engine was killed" : "stopped"}`, async (t) => {
      const work = new HandJob();
      const world = await start(t, work);
      const { engine: before, clock } = world;
      await before.submitWorkflow(outer, { instanceId: "nested" });
      await before.submitWorkflow(waiting, { instanceId: "waiting" });
      await before.submitWorkflow(timed, { instanceId: "timed" });
      for (const id of ["l0", "l1", "l2"]) await before.submitWorkflow(limited, { instanceId: id });
      await before.submitWorkflow(bulky, { instanceId: "bulky" });
      await before.submitWorkflow(chain("stopped", "s1", "s2"), { instanceId: "paused" });
      await before.submitWorkflow(workflow("fails", task("x", "broken")), { instanceId: "failed" });
      const reused = chain("again", "g");
      await before.submitWorkflow(reused, { instanceId: "reused" });
      (await work.call("g")).finish("first");
      await before.awaitWorkflowInstance("reused");
      await before.submitWorkflow(reused, { instanceId: "reused", reuse: true });
      (await work.call("g", { after: 1 })).finish("second");
      (await work.call("a")).finish("deep");
      await work.call("b");
      await before.pauseWorkflowInstance("paused");
      (await work.call("s1")).finish(1);
      await clock.advance(1000);
      const running = work.calls.length;
      if (isKilled) world.kill();
      else await clock.until(before.stop());

      const { engine } = await moved(t, world, work);
      assert.equal((await view(clock, engine, "waiting")).status, "Running");
      assert.equal((await view(clock, engine, "paused")).status, "Paused");
      assert.equal((await view(clock, engine, "failed")).status, "Failed");
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance("reused")), { g: "second" });
      const lives = await engine.listWorkflowInstances({ idPrefix: "reused" });
      assert.deepEqual(
        lives.map(({ generation }) => generation),
        [2, 1],
      );

      // What was running runs again, under the same attempt.
      for (const name of ["b", "t", "l", "next"]) {
        const again = await clock.until(work.call(name, { after: 1 }));
        assert.equal(again.ctx.attempt, 1);
        again.finish(name);
      }
      const next = ["after", "l"];
      await clock.settle();
      assert.deepEqual(work.started.slice(running + 4).sort(), next, "and nothing that had not its turn");
      for (const place of [2, 3]) (await clock.until(work.call("l", { after: place }))).finish("l");
      (await clock.until(work.call("after"))).finish("end");
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance("nested")), {
        n: { m: { a: "deep", b: "b" } },
        after: "end",
      });
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance("bulky")), {
        big: "x".repeat(10_000),
        next: "next",
      });
      for (const id of ["l0", "l1", "l2"])
        assert.deepEqual(await clock.until(engine.awaitWorkflowInstance(id)), { l: "l" });
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance("timed")), { t: "t" });
      const since = clock.now();
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance("waiting")), { f: 2 });
      assert.ok(clock.now() - since > hourMs / 2, "the wait for a retry was not cut short");
      await clock.until(engine.resumeWorkflowInstance("paused"));
      (await clock.until(work.call("s2"))).finish(2);
      assert.deepEqual(await clock.until(engine.awaitWorkflowInstance("paused")), { s1: 1, s2: 2 });

      // An orderly stop costs nothing; a lost attempt is counted.
      const interruptions = (await historyOf(clock, engine, "timed")).filter((type) => type === "TaskInterrupted");
      assert.equal(interruptions.length, isKilled ? 1 : 0);
    });
  }

  test("a timeout of an instance counts on", async (t) => {
    const work = new HandJob();
    const world = await start(t, work);
    await world.engine.submitWorkflow(timed, { instanceId: "timed" });
    const begun = world.clock.now();
    await work.call("t");
    world.kill();
    await world.clock.advance(hourMs);
    const { engine } = await moved(t, world, work);
    await assert.rejects(world.clock.until(engine.awaitWorkflowInstance("timed")), /did not end within its timeout/);
    assert.equal(world.clock.now() - begun, 2 * hourMs);
  });

  test("a quarantined instance is quarantined, and goes on when it is resumed", async (t) => {
    const work = new HandJob();
    const world = await start(t, work);
    await world.engine.submitWorkflow(outer, { instanceId: "x" });
    const a = await work.call("a");
    world.store.poison("x/n/m");
    a.finish(1);
    await world.clock.settle();
    assert.equal(world.engine.health.quarantinedInstances, 1);
    world.store.faultOf = undefined;
    await world.clock.until(world.engine.stop());
    const { engine } = await moved(t, world, work);
    await assert.rejects(view(world.clock, engine, "x/n/m"), /is quarantined/);
    await world.clock.until(engine.resumeWorkflowInstance("x/n/m"));
    (await world.clock.until(work.call("a", { after: 1 }))).finish(1);
    (await world.clock.until(work.call("b"))).finish(2);
    (await world.clock.until(work.call("after"))).finish(3);
    assert.deepEqual(await world.clock.until(engine.awaitWorkflowInstance("x")), {
      n: { m: { a: 1, b: 2 } },
      after: 3,
    });
  });

  test("a finished instance is retried, with its children", async (t) => {
    const work = new HandJob();
    const world = await start(t, work);
    await world.engine.submitWorkflow(outer, { instanceId: "x" });
    (await work.call("a")).finish(1);
    (await work.call("b")).fail(new Error("not this time"));
    await assert.rejects(world.engine.awaitWorkflowInstance("x"));
    await world.clock.until(world.engine.stop());
    const { engine } = await moved(t, world, work);
    await world.clock.until(engine.retryWorkflowInstance("x"));
    (await world.clock.until(work.call("b", { after: 1 }))).finish(2);
    (await world.clock.until(work.call("after"))).finish(3);
    assert.deepEqual(await world.clock.until(engine.awaitWorkflowInstance("x")), {
      n: { m: { a: 1, b: 2 } },
      after: 3,
    });
    assert.deepEqual(work.started, ["a", "b", "b", "after"], "the child went on, and was not begun anew");
  });
});

describe("messages that nobody had read", () => {
  /** Kills the engine when the first turn is about to be written that has read a message of the instance, or the nth. */
  async function killedAtMark(t: TestContext, work: HandJob, nth: number): Promise<World | undefined> {
    const world = await start(t, work);
    let marks = 0;
    const killed = Promise.withResolvers<"killed">();
    world.store.onSend = ({ changes }) => {
      if (changes.offsets.length === 0 || ++marks < nth) return;
      world.kill();
      killed.resolve("killed");
    };
    const finish = async (): Promise<"finished"> => {
      await world.engine.submitWorkflow(outer, { instanceId: "x" });
      for (const name of ["a", "b", "after"]) (await work.call(name)).finish(name);
      await world.engine.awaitWorkflowInstance("x");
      return "finished";
    };
    return (await Promise.race([killed.promise, finish()])) === "killed" ? world : undefined;
  }

  test("are read after the move, each once", async (t) => {
    let moves = 0;
    for (let nth = 1; ; nth++) {
      const work = new HandJob();
      const world = await killedAtMark(t, work, nth);
      if (world === undefined) break;
      moves++;
      const unread = await world.disk.inner.loadOutbox([0]);
      assert.equal(unread.length, 1);
      const { engine } = await moved(t, world, work);
      work.onCall = (call) => call.finish(call.ctx.taskName);
      const outputs = await world.clock.until(engine.awaitWorkflowInstance("x"));
      assert.deepEqual(outputs, { n: { m: { a: "a", b: "b" } }, after: "after" });
      const listed = await engine.listWorkflowInstances({});
      assert.deepEqual(listed.map(({ id, generation }) => `${id} ${generation}`).sort(), ["x 1", "x/n 1", "x/n/m 1"]);
    }
    assert.equal(moves, 4, "two children were started, and told their ends");
  });
});

describe("a workflow's maximum of instances", () => {
  test("holds after a move, and those that wait come in their order, though nobody was there to let them in", async (t) => {
    const work = new HandJob();
    const world = await start(t, work);
    const ids = ["i0", "i1", "i2", "i3"];
    for (const id of ids) {
      await world.engine.submitWorkflow(limited, { instanceId: id });
      await world.clock.advance(1);
    }
    const first = await work.call("l", { instanceId: "i0" });
    // It ends, and the next one is not let in any more.
    world.store.onSend = ({ changes }) => {
      if (changes.finished.length > 0) world.store.onSend = () => world.kill();
    };
    first.finish(0);
    await world.clock.settle();
    const statuses = (await world.disk.inner.listInstances({ limit: 10 })).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), ["Ready", "Ready", "Ready", "Success"]);
    const { engine } = await moved(t, world, work);
    for (const id of ids.slice(1)) {
      const call = await world.clock.until(work.call("l", { instanceId: id }));
      assert.equal(work.calls.length, ids.indexOf(id) + 1, "one at a time");
      call.finish(1);
    }
    for (const id of ids.slice(1))
      assert.deepEqual(await world.clock.until(engine.awaitWorkflowInstance(id)), { l: 1 });
  });
});

describe("code workflows", () => {
  const loop = defineWorkflow("loop", async (ctx, turns: number): Promise<number> => {
    if (turns === 2) return turns;
    await ctx.waitForEvent("next");
    return await ctx.continueAsNew(turns + 1);
  });
  const kid = defineWorkflow("kid", (ctx) => ctx.waitForEvent<string>("go"));
  const family = defineWorkflow("family", async (ctx, name: string) => {
    const big = await ctx.run(large);
    const said = await ctx.callChild(kid, undefined, { instanceId: `${name}'s kid` });
    await ctx.sleep(hourMs);
    return `${name} ${big.length} ${said}`;
  });

  test("go on where they were, with their children, timers and large values; and a history that began anew comes along", async (t) => {
    const clock = new TestClock();
    const options = { clock, jobs: [large], workflows: [kid, family, loop], logger: new LogBook() };
    const from = memoryStore();
    const before = new Engine({ ...options, storage: from });
    await before.start();
    await before.startWorkflow(family, "ada", { instanceId: "ada" });
    await before.startWorkflow(loop, 0, { instanceId: "loop" });
    await before.raiseEvent("loop", "next");
    await clock.settle();
    await before.stop();

    const to = memoryStore();
    await from.open();
    await to.open();
    await importInstances(to, exportInstances(from));
    await from.close();
    await to.close();
    const after = new Engine({ ...options, storage: to });
    await after.start();
    t.after(() => after.stop());
    await after.raiseEvent("ada's kid", "go", "hello");
    assert.equal(await clock.until(after.awaitWorkflowInstance("ada")), "ada 10000 hello");
    await after.raiseEvent("loop", "next");
    assert.equal(await clock.until(after.awaitWorkflowInstance("loop")), 2);
  });
});
