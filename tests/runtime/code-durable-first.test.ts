/** Code workflows and a store that is slow, fails, or lies about failing: nothing leaves before its cause is durable. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { hasCode } from "../../src/base/error.ts";
import { InProcessBus } from "../../src/cluster/in-process-bus.ts";
import { Engine } from "../../src/engine/engine.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { Disk, type Fault, FaultyStore } from "./faulty-store.ts";
import { HandJob } from "./hand-job.ts";
import { watch, World } from "./world.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const two = defineWorkflow("two", async (ctx) => {
  let heard = 0;
  ctx.onQuery("heard", () => heard);
  ctx.onUpdate("hear", (n: number) => (heard += n));
  const a = await ctx.run("work", undefined, { name: "a" });
  return [a, await ctx.run("work", undefined, { name: "b" })];
});
const apart = defineWorkflow("apart", (ctx) => ctx.run("work", undefined, { name: "apart" }));
const starter = defineWorkflow("starter", async (ctx) => {
  await ctx.run("work", undefined, { name: "first" });
  ctx.sendEvent("ear", "word", 1);
  return await ctx.callChild(apart);
});
const ear = defineWorkflow("ear", (ctx) => ctx.waitForEvent("word"));
const sleeper = defineWorkflow("sleeper", async (ctx) => {
  await ctx.sleep(1000);
  return await ctx.run("work", undefined, { name: "awake" });
});

const stores = { "the memory store": memoryStore, SQLite: () => new SqliteStore({ file: ":memory:" }) };

for (const [name, inner] of Object.entries(stores)) {
  const begin = async (t: TestContext): Promise<{ world: World; work: HandJob }> => {
    const work = new HandJob();
    const workflows = [two, apart, starter, ear, sleeper];
    return { work, world: await World.start(t, { inner: inner(), jobs: [work.job], workflows }) };
  };

  describe(`while a commit to ${name} is under way`, () => {
    test("a start is not answered and no activity starts", async (t) => {
      const { world, work } = await begin(t);
      const gate = world.store.hold();
      const started = watch(world.engine.startWorkflow(two, undefined, { instanceId: "x" }));
      await gate.reached();
      await world.clock.advance(10_000);
      assert.equal(started.state, "waiting");
      assert.deepEqual(work.started, []);
      gate.open();
      await work.call("a");
      assert.equal(world.store.ledger.scheduled("x", 0), 1);
      await world.clock.settle();
      assert.equal(started.state, "done");
    });

    test("the next activity does not start, and a result is not told", async (t) => {
      const { world, work } = await begin(t);
      const handle = await world.engine.startWorkflow(two, undefined, { instanceId: "x" });
      const result = watch(handle.result());
      const first = await work.call("a");
      const gate = world.store.hold("after");
      first.finish(1);
      await gate.reached();
      await world.clock.advance(10_000);
      assert.deepEqual(work.started, ["a"]);
      gate.open();
      const second = await work.call("b");
      const last = world.store.hold();
      second.finish(2);
      await last.reached();
      await world.clock.advance(10_000);
      assert.equal(result.state, "waiting");
      last.open();
      assert.deepEqual(await handle.result(), [1, 2]);
      assert.equal(world.store.ledger.status("x"), "Success");
    });

    test("what the code has seen is told to nobody: neither query, status nor update is answered", async (t) => {
      const { world } = await begin(t);
      const handle = await world.engine.startWorkflow(two, undefined, { instanceId: "x" });
      await world.clock.settle();
      const gate = world.store.hold();
      const update = watch(handle.update("hear", 5));
      await gate.reached();
      const query = watch(handle.query("heard"));
      const status = watch(handle.getStatus());
      await world.clock.advance(10_000);
      assert.deepEqual([update.state, query.state, status.state], ["waiting", "waiting", "waiting"]);
      gate.open();
      await world.clock.settle();
      assert.deepEqual([update.value, query.value], [5, 5]);
      assert.equal(world.store.ledger.count("x", "UpdateAnswered"), 1);
    });

    test("an end that comes right after the instance was reopened is not told", async (t) => {
      const { world } = await begin(t);
      await world.engine.startWorkflow(two, undefined, { instanceId: "x" });
      await world.engine.terminateWorkflowInstance("x", "at first");
      const reopening = world.store.hold();
      const reopened = watch(world.engine.retryWorkflowInstance("x"));
      const ended = watch(world.engine.awaitWorkflowInstance("x"));
      await reopening.reached();
      const terminated = watch(world.engine.terminateWorkflowInstance("x", "again"));
      await world.clock.settle();
      const ending = world.store.hold();
      reopening.open();
      await ending.reached();
      await world.clock.advance(10_000);
      assert.deepEqual([reopened.state, ended.state, terminated.state], ["done", "waiting", "waiting"]);
      ending.open();
      await world.clock.settle();
      assert.equal(terminated.state, "done");
      assert.match(String(ended.error), /was terminated: again/);
    });

    test("an event is not acknowledged, a child is not started, and what is sent to others does not reach them", async (t) => {
      const { world, work } = await begin(t);
      const listening = await world.engine.startWorkflow(ear, undefined, { instanceId: "ear" });
      await world.engine.startWorkflow(starter, undefined, { instanceId: "x" });
      const first = await work.call("first");
      const gate = world.store.hold();
      first.finish();
      await gate.reached();
      const raised = watch(world.engine.raiseEvent("x", "any"));
      const heard = watch(listening.result());
      await world.clock.advance(10_000);
      assert.deepEqual([raised.state, heard.state], ["waiting", "waiting"]);
      assert.deepEqual(work.started, ["first"]);
      gate.open();
      (await work.call("apart")).finish("end");
      assert.equal(await world.engine.awaitWorkflowInstance("x"), "end");
      assert.equal(await listening.result(), 1);
    });

    test("what happens meanwhile shares the next turn, in the order it came", async (t) => {
      const { world } = await begin(t);
      const taker = defineWorkflow("taker", async (ctx) => {
        const taken: unknown[] = [];
        for (let i = 0; i < 20; i++) taken.push(await ctx.waitForEvent("n"));
        return taken;
      });
      await world.engine.registerWorkflow(taker);
      const handle = await world.engine.startWorkflow(taker, undefined, { instanceId: "x" });
      await world.clock.settle();
      const gate = world.store.hold();
      const numbers = Array.from({ length: 20 }, (_, n) => n);
      const raised = numbers.map((n) => handle.raiseEvent("n", n));
      await gate.reached();
      gate.open();
      await Promise.all(raised);
      assert.deepEqual(await handle.result(), numbers);
      assert.ok(
        (await world.disk.inner.listHistory(world.store.ledger.key("x"), { afterTurn: -1, limit: 100 })).length < 10,
      );
    });
  });

  describe(`when ${name} fails`, () => {
    test("a timer that comes due meanwhile fires once, when it is back", async (t) => {
      const { world, work } = await begin(t);
      const handle = await world.engine.startWorkflow(sleeper, undefined, { instanceId: "x" });
      await world.clock.advance(500);
      world.store.faultOf = () => "before";
      await world.clock.advance(60_000);
      assert.equal(world.engine.health.status, "degraded");
      assert.deepEqual(work.started, []);
      await assert.rejects(world.engine.startWorkflow(two, undefined), (error) => hasCode(error, "STORE_UNAVAILABLE"));
      world.store.faultOf = undefined;
      await world.clock.advance(60_000);
      (await work.call("awake")).finish("well");
      assert.equal(await handle.result(), "well");
      assert.equal(world.store.ledger.count("x", "TimerFired"), 1);
      assert.equal(world.engine.health.status, "up");
    });

    test("data that it does not take quarantine the instance, visibly; resumed, it goes on and nothing is lost", async (t) => {
      const { world, work } = await begin(t);
      const handle = await world.engine.startWorkflow(two, undefined, { instanceId: "x" });
      const other = await world.engine.startWorkflow(sleeper, undefined, { instanceId: "other" });
      const first = await work.call("a");
      world.store.poison("x");
      first.finish(1);
      await world.clock.settle();
      assert.equal(world.engine.health.quarantinedInstances, 1);
      await assert.rejects(handle.getStatus(), (error) => hasCode(error, "INSTANCE_QUARANTINED"));
      world.store.faultOf = undefined;
      await world.engine.resumeWorkflowInstance("x");
      (await work.call("a", { after: 1 })).finish(10);
      (await work.call("b")).finish(20);
      assert.deepEqual(await handle.result(), [10, 20]);
      await world.clock.advance(1000);
      (await work.call("awake")).finish("well");
      assert.equal(await other.result(), "well");
    });
  });
}

test("an end is told to another member as it was, although the instance is reopened in the same breath", async (t) => {
  const clock = new TestClock();
  const bus = new InProcessBus({ clock });
  const disk = new Disk(memoryStore());
  const member = async (name: string): Promise<{ engine: Engine; store: FaultyStore }> => {
    const store = new FaultyStore(disk);
    const cluster = { bus, name, shards: 1 };
    const random = new SeededRandom(name.length);
    const options = { storage: store, clock, random, logger: new LogBook(), cluster };
    const engine = new Engine({ ...options, jobs: [new HandJob().job], workflows: [two] });
    t.after(() => clock.until(engine.stop()));
    await clock.until(engine.start());
    return { engine, store };
  };
  const members = [await member("a"), await member("bb")];
  await clock.advance(10_000);
  const isOwner = ({ engine }: { engine: Engine }): boolean =>
    engine.members().some(({ isSelf, shards }) => isSelf && shards === 1);
  const [owner, other] = members.toSorted((a, b) => Number(isOwner(b)) - Number(isOwner(a)));
  assert.ok(owner !== undefined && other !== undefined && isOwner(owner) && !isOwner(other));
  await clock.until(owner.engine.startWorkflow(two, undefined, { instanceId: "x" }));
  const ended = watch(other.engine.awaitWorkflowInstance("x"));
  await clock.settle();
  const ending = owner.store.hold();
  const terminated = watch(owner.engine.terminateWorkflowInstance("x", "at first"));
  await ending.reached();
  const reopened = watch(owner.engine.retryWorkflowInstance("x"));
  await clock.settle();
  ending.open();
  await clock.advance(1000);
  assert.deepEqual([terminated.state, reopened.state, ended.state], ["done", "done", "failed"]);
  assert.match(String(ended.error), /was terminated: at first/);
});

const child = defineWorkflow("child", async (ctx, n: number) => {
  await ctx.sleep(100);
  return (await ctx.run("add", n)) as number;
});
const busy = defineWorkflow("busy", async (ctx, n: number): Promise<unknown> => {
  const parts = await ctx.all([ctx.run("add", n), ctx.callChild(child, n), ctx.run("add", n + 1)]);
  const heard = await ctx.waitForEvent("word");
  await ctx.sleep(200);
  if (ctx.generation === 1) return await ctx.continueAsNew(n + 10, { keepEvents: true });
  return { parts, heard, chance: ctx.random() };
});

describe("commits that fail, are written and fail, or come late", () => {
  for (let seed = 1; seed <= 8; seed++) {
    test(`seed ${seed}: what comes of twenty instances is what it would have been`, async (t) => {
      const ids = Array.from({ length: 20 }, (_, n) => `i${n}`);
      const results = async (faulty: boolean): Promise<unknown> => {
        const { job, seen } = adding();
        const world = await World.start(t, { jobs: [job], workflows: [busy, child], idleMax: 5 });
        const random = new SeededRandom(seed);
        if (faulty) {
          const faults: readonly (Fault | undefined)[] = ["before", "after", undefined, undefined];
          world.store.faultOf = () => faults[Math.floor(random.next() * faults.length)];
        }
        const calls = ids.map(async (id, n) => {
          const handle = await world.engine.startWorkflow(busy, n, { instanceId: id });
          await handle.raiseEvent("word", "one");
          await handle.raiseEvent("word", "two");
          return await handle.result();
        });
        const all = await world.clock.until(Promise.all(calls));
        return { all, seen: [...seen].toSorted() };
      };
      assert.deepEqual(await results(true), await results(false));
    });
  }

  function adding(): { job: HandJob["job"]; seen: Set<string> } {
    const work = new HandJob("add");
    const seen = new Set<string>();
    work.onCall = (call) => {
      assert.ok(!seen.has(call.ctx.attemptId), `${call.ctx.attemptId} is executed once`);
      seen.add(call.ctx.attemptId);
      call.finish((call.params as number) + 1);
    };
    return { job: work.job, seen };
  }
});
