/** Spec §7.4: retention and purge: nothing about a purged instance is left, and nothing else is touched. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { defineJob, type Job } from "../../src/authoring/job.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { memoryStore } from "../../src/testing.ts";
import { HandJob } from "./hand-job.ts";
import { type Watched, watch, World } from "./world.ts";
import { chain, task, workflow } from "./workflows.ts";

const hourMs = 3_600_000;

const done = defineJob("done", () => "x".repeat(10_000));
const fails = defineJob("fails", () => {
  throw new Error("no");
});
const success = workflow("success", task("a", "done"));
const failure = workflow("failure", task("a", "fails"));

/** How much of an instance is in each table; payloads are asked for by the references that its history had. */
async function traces(store: Store, id: string, key: number, refs: readonly number[]): Promise<Record<string, number>> {
  const payloads = await Promise.allSettled(refs.map((ref) => store.loadPayloads(key, [ref])));
  return {
    unfinished: (await store.listUnfinished(0, { after: key - 1, limit: 1 })).filter((row) => row.key === key).length,
    finished: (await store.findFinished(id))?.key === key ? 1 : 0,
    listed: (await store.listInstances({ idPrefix: id, limit: 10 })).filter((row) => row.key === key).length,
    history: (await store.loadHistory([key])).length,
    payloads: payloads.filter(({ status }) => status === "fulfilled").length,
  };
}

async function refsOf(store: Store, key: number): Promise<number[]> {
  const texts = (await store.loadHistory([key])).map(({ events }) => events).join("");
  return Array.from(texts.matchAll(/"ref":(\d+)/g), (match) => Number(match[1]));
}

for (const [name, inner] of Object.entries({
  "the memory store": memoryStore,
  SQLite: (): Store => new SqliteStore({ file: ":memory:" }),
})) {
  test(`a purged instance leaves no trace in ${name}, and its neighbour every one`, async (t) => {
    const world = await World.start(t, { inner: inner(), jobs: [done] });
    for (const id of ["x", "y"]) await (await world.engine.submitWorkflow(success, { instanceId: id })).result();
    const keys = { x: world.disk.ledger.key("x"), y: world.disk.ledger.key("y") };
    const refs = { x: await refsOf(world.disk.inner, keys.x), y: await refsOf(world.disk.inner, keys.y) };
    const before = await traces(world.disk.inner, "y", keys.y, refs.y);
    assert.deepEqual(before, { unfinished: 0, finished: 1, listed: 1, history: 2, payloads: 1 });
    assert.equal(await world.engine.purgeWorkflowInstances({ instanceId: "x" }), 1);
    const gone = { unfinished: 0, finished: 0, listed: 0, history: 0, payloads: 0 };
    assert.deepEqual(await traces(world.disk.inner, "x", keys.x, refs.x), gone);
    assert.deepEqual(await traces(world.disk.inner, "y", keys.y, refs.y), before);
    for (const call of [
      world.engine.getWorkflowInstanceStatus("x"),
      world.engine.awaitWorkflowInstance("x"),
      world.engine.retryWorkflowInstance("x"),
      world.engine.purgeWorkflowInstances({ instanceId: "x" }),
    ]) {
      await assert.rejects(call, (error) => hasCode(error, "INSTANCE_UNKNOWN"));
    }
    await world.engine.submitWorkflow(success, { instanceId: "x" });
  });
}

describe("retention", () => {
  test("purges by status, each after its own time; 0 means never", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, {
      jobs: [work.job, done, fails],
      retentionMs: { Success: hourMs, Failed: 3 * hourMs, Terminated: 0 },
    });
    const { engine, clock } = world;
    await (await engine.submitWorkflow(success, { instanceId: "s" })).result();
    await assert.rejects((await engine.submitWorkflow(failure, { instanceId: "f" })).result());
    const terminated = await engine.submitWorkflow(chain("one", "a"), { instanceId: "t" });
    await terminated.terminate();
    await engine.submitWorkflow(workflow("long", task("a").withTimeout(1e6)), { instanceId: "running" });
    const left = async (): Promise<string[]> => (await engine.listWorkflowInstances()).map(({ id }) => id).toSorted();
    await clock.advance(59 * 60_000);
    assert.deepEqual(await left(), ["f", "running", "s", "t"]);
    await clock.advance(2 * 60_000 + 1);
    assert.deepEqual(await left(), ["f", "running", "t"]);
    await clock.advance(2 * hourMs);
    assert.deepEqual(await left(), ["running", "t"]);
    await clock.advance(100 * hourMs);
    assert.deepEqual(await left(), ["running", "t"]);
  });

  test("purges more than fit in one commit", async (t) => {
    const quick = defineJob("quick", () => 1);
    const world = await World.start(t, { jobs: [quick], retentionMs: { Success: hourMs } });
    const short = workflow("short", task("a", "quick"));
    const runs = await Promise.all(Array.from({ length: 1201 }, () => world.engine.submitWorkflow(short)));
    await Promise.all(runs.map((run) => run.result()));
    const sent = world.store.sent.length;
    await world.clock.advance(hourMs + 120_000);
    assert.deepEqual(await world.engine.listWorkflowInstances(), []);
    const purges = world.store.sent.slice(sent).filter(({ changes }) => changes.purged.length > 0);
    assert.equal(purges.length, 3);
  });

  test("leaves alone an instance that is being retried at that moment, and does not spin on it", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], retentionMs: { Failed: hourMs } });
    const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    (await work.call("a")).fail(new Error("no"));
    await assert.rejects(run.result());
    await world.clock.advance(59 * 60_000);
    const gate = world.store.hold();
    const retried = watch(world.engine.retryWorkflowInstance("x"));
    await gate.reached();
    await world.clock.advance(hourMs);
    gate.open();
    await world.clock.advance(0);
    assert.equal(retried.state, "done");
    (await work.call("a", { after: 1 })).finish(1);
    assert.deepEqual(await run.result(), { a: 1 });
  });

  test("goes on after a round in which the store could not be read", async (t) => {
    const world = await World.start(t, { jobs: [done], retentionMs: { Success: hourMs } });
    await (await world.engine.submitWorkflow(success, { instanceId: "x" })).result();
    world.store.readsFail = true;
    await world.clock.advance(2 * hourMs);
    world.store.readsFail = false;
    await world.clock.advance(120_000);
    assert.deepEqual(await world.engine.listWorkflowInstances(), []);
    assert.ok(world.log.messages("warn").includes("a maintenance round failed; the next one tries again"));
  });
});

describe("a purge by hand", () => {
  test("is refused for what has not ended", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    await work.call("a");
    const purged = world.engine.purgeWorkflowInstances({ instanceId: "x" });
    await assert.rejects(purged, (error) => hasCode(error, "INSTANCE_STATE"));
    assert.equal((await world.engine.getWorkflowInstanceStatus("x")).status, "Running");
  });

  test("by id takes every life of it", async (t) => {
    const world = await World.start(t, { jobs: [done] });
    for (let life = 1; life <= 3; life++) {
      await (await world.engine.submitWorkflow(success, { instanceId: "x", reuse: true })).result();
    }
    assert.equal(await world.engine.purgeWorkflowInstances({ instanceId: "x" }), 3);
    assert.deepEqual(await world.engine.listWorkflowInstances(), []);
  });

  test("by status and time says how many", async (t) => {
    const world = await World.start(t, { jobs: [done] });
    for (const id of ["x", "y"]) await (await world.engine.submitWorkflow(success, { instanceId: id })).result();
    const which = { status: "Success", endedBefore: world.clock.now() + 1 } as const;
    assert.equal(await world.engine.purgeWorkflowInstances(which), 2);
    assert.equal(await world.engine.purgeWorkflowInstances(which), 0);
  });

  test("is not undone by a retry that had read the instance before", async (t) => {
    const world = await World.start(t, { jobs: [done, fails] });
    await assert.rejects((await world.engine.submitWorkflow(failure, { instanceId: "x" })).result());
    const key = world.disk.ledger.key("x");
    const slow = Promise.withResolvers<void>();
    world.store.afterRead = (what) => (what === "findFinished" ? slow.promise : Promise.resolve());
    const retried = watch(world.engine.retryWorkflowInstance("x"));
    await world.clock.settle();
    const which = { status: "Failed", endedBefore: world.clock.now() + 1 } as const;
    assert.equal(await world.engine.purgeWorkflowInstances(which), 1);
    slow.resolve();
    await world.clock.settle();
    assert.ok(hasCode(retried.error, "INSTANCE_UNKNOWN"));
    assert.deepEqual(await world.disk.inner.loadHistory([key]), []);
  });

  test("and a look at the same instance, in any order of their steps, leave nothing behind", async (t) => {
    for (let lag = 0; lag < 24; lag++) {
      const world = await World.start(t, { jobs: [done, fails] });
      await assert.rejects((await world.engine.submitWorkflow(failure, { instanceId: "x" })).result());
      const key = world.disk.ledger.key("x");
      const purged = watch(
        world.engine.purgeWorkflowInstances({ status: "Failed", endedBefore: world.clock.now() + 1 }),
      );
      for (let tick = 0; tick < lag; tick++) await Promise.resolve();
      const looked = watch(world.engine.getWorkflowInstanceStatus("x"));
      const retried = watch(world.engine.retryWorkflowInstance("x"));
      await world.clock.settle();
      assert.notEqual(purged.state, "waiting");
      assert.notEqual(looked.state, "waiting");
      assert.notEqual(retried.state, "waiting");
      const history = await world.disk.inner.loadHistory([key]);
      if (purged.value === 1) assert.deepEqual(history, [], `purged, and yet there is history (lag ${lag})`);
      else assert.equal(history[0]?.turn, 0, `kept, and whole (lag ${lag})`);
      assert.equal(world.engine.health.quarantinedInstances, 0);
      assert.equal(world.engine.health.unfinishedInstances, 0);
      assert.equal(world.engine.health.instancesInMemory, 0);
    }
  });
});

describe("a purge beside a reopening", () => {
  const large = "x".repeat(10_000);
  const code = defineWorkflow("code", async (ctx, input: string) => {
    await ctx.run("done");
    return await ctx.run("fails once", input.length);
  });

  /** Fails in its first run; the instance that fails because of it succeeds when it is retried. */
  function failsOnce(): Job {
    let runs = 0;
    return defineJob("fails once", (length: number) => {
      if (runs++ === 0) throw new Error("no");
      return length;
    });
  }

  const starts = {
    DAG: async ({ engine }: World) => {
      const definition = workflow("dag", task("a", "done"), task("b", "fails once", 10_000).withDependency("a"));
      await engine.submitWorkflow(definition, { instanceId: "x", params: { large } });
    },
    code: async ({ engine }: World) => void (await engine.startWorkflow(code, large, { instanceId: "x" })),
  };

  async function failed(t: TestContext, kind: keyof typeof starts): Promise<{ world: World; key: number }> {
    const world = await World.start(t, { jobs: [done, failsOnce()], workflows: [code] });
    await starts[kind](world);
    await assert.rejects(world.engine.awaitWorkflowInstance("x"));
    return { world, key: world.disk.ledger.key("x") };
  }

  /** Either of the two happens, and the other one finds what the first has left. */
  async function assertOneOf(scene: Scene, lag: number): Promise<void> {
    const { world, key, purged, reopened } = scene;
    const { inner } = world.disk;
    if (reopened.state === "failed") {
      assert.ok(hasCode(reopened.error, "INSTANCE_UNKNOWN"), `lag ${lag}`);
      assert.equal(purged.value, 1, `lag ${lag}`);
      assert.deepEqual(await inner.loadHistory([key]), []);
    } else {
      assert.deepEqual([reopened.state, purged.value], ["done", 0], `lag ${lag}`);
      await world.engine.awaitWorkflowInstance("x");
      const history = await inner.loadHistory([key]);
      // Code that is retried begins anew, and what was before is trimmed.
      const isWhole = history[0]?.turn === 0 || history[0]?.events.includes("InstanceContinued");
      assert.ok(isWhole, `lag ${lag}`);
      await inner.loadPayloads(key, await refsOf(inner, key));
    }
    const { quarantinedInstances, unfinishedInstances, instancesInMemory } = world.engine.health;
    assert.deepEqual([quarantinedInstances, unfinishedInstances, instancesInMemory], [0, 0, 0], `lag ${lag}`);
  }

  interface Race {
    readonly purged: Watched<number>;
    readonly reopened: Watched<unknown>;
  }

  interface Scene extends Race {
    readonly world: World;
    readonly key: number;
  }

  /** One begins, and the other so many microtasks later. */
  async function begin({ engine, clock }: World, order: "purge first" | "retry first", lag: number): Promise<Race> {
    const which = { status: "Failed", endedBefore: clock.now() + 1 } as const;
    const purge = (): Watched<number> => watch(engine.purgeWorkflowInstances(which));
    const retry = (): Watched<unknown> => watch(engine.retryWorkflowInstance("x"));
    const first = order === "purge first" ? purge() : retry();
    for (let tick = 0; tick < lag; tick++) await Promise.resolve();
    return order === "purge first"
      ? { purged: first as Watched<number>, reopened: retry() }
      : { purged: purge(), reopened: first };
  }

  for (const kind of ["DAG", "code"] as const) {
    for (const order of ["purge first", "retry first"] as const) {
      test(`of ${kind}, ${order}, in any order of their steps`, async (t) => {
        for (let lag = 0; lag < 40; lag++) {
          const { world, key } = await failed(t, kind);
          const scene = { world, key, ...(await begin(world, order, lag)) };
          await world.clock.settle();
          await assertOneOf(scene, lag);
        }
      });

      test(`of ${kind}, ${order}, while the lane is busy with another commit`, async (t) => {
        for (let lag = 0; lag < 40; lag++) {
          const { world, key } = await failed(t, kind);
          const gate = world.store.hold();
          void world.engine.submitWorkflow(success, { instanceId: "y" });
          await gate.reached();
          const scene = { world, key, ...(await begin(world, order, lag)) };
          if (lag % 2 === 0) await world.clock.settle();
          gate.open();
          await world.clock.settle();
          await assertOneOf(scene, lag);
        }
      });

      test(`of ${kind}, ${order}, where commits are slow`, async (t) => {
        for (const stage of ["before", "after"] as const) {
          for (let lag = 0; lag < 40; lag++) {
            const { world, key } = await failed(t, kind);
            const gate = world.store.hold(stage);
            const scene = { world, key, ...(await begin(world, order, lag)) };
            await world.clock.settle();
            gate.open();
            await world.clock.settle();
            await assertOneOf(scene, lag);
          }
        }
      });
    }
  }

  test("and a new start of the same id, in any order of their steps", async (t) => {
    for (let lag = 0; lag < 60; lag++) {
      const { world, key } = await failed(t, "code");
      const purged = watch(world.engine.purgeWorkflowInstances({ instanceId: "x" }));
      for (let tick = 0; tick < lag; tick++) await Promise.resolve();
      const started = watch(world.engine.startWorkflow(code, large, { instanceId: "x", reuse: true }));
      await world.clock.settle();
      assert.equal(started.state, "done", `lag ${lag}`);
      assert.notEqual(purged.state, "waiting", `lag ${lag}`);
      const life = (await world.engine.listWorkflowInstances()).find(({ id }) => id === "x");
      const history = life && (await world.disk.inner.loadHistory([life.key]));
      assert.equal(history?.[0]?.turn ?? 0, 0, `lag ${lag}`);
      if (life === undefined) assert.equal(purged.value, 2, `lag ${lag}: the new life had ended, and was purged too`);
      else assert.equal(await world.engine.awaitWorkflowInstance("x"), large.length, `lag ${lag}`);
      if (purged.state === "done") assert.deepEqual(await world.disk.inner.loadHistory([key]), [], `lag ${lag}`);
      assert.equal(world.engine.health.quarantinedInstances, 0);
    }
  });
});
