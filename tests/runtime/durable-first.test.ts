/** Nothing leaves before its cause is durable: effects, answers and news wait for the commit, however it goes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { memoryStore } from "../../src/testing.ts";
import { HandJob } from "./hand-job.ts";
import { watch, World } from "./world.ts";
import { chain, nested, task, workflow } from "./workflows.ts";

const stores: Readonly<Record<string, () => Store>> = {
  "the memory store": memoryStore,
  SQLite: () => new SqliteStore({ file: ":memory:" }),
};

for (const [name, inner] of Object.entries(stores)) {
  describe(`while a commit to ${name} is under way`, () => {
    test("a submit is not answered and no job starts", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const gate = world.store.hold();
      const submitted = watch(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" }));
      await gate.reached();
      await world.clock.advance(10_000);
      assert.equal(submitted.state, "waiting");
      assert.deepEqual(work.started, []);
      assert.equal(world.store.ledger.status("x"), undefined);
      gate.open();
      await work.call("a");
      assert.equal(world.store.ledger.scheduled("x", 0), 1);
      await world.clock.settle();
      assert.equal(submitted.state, "done");
    });

    test("it is not enough that it was written: it must have been answered", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const gate = world.store.hold("after");
      const submitted = watch(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" }));
      await gate.reached();
      await world.clock.advance(10_000);
      assert.equal((await world.disk.inner.listInstances({ limit: 10 })).length, 1);
      assert.equal(submitted.state, "waiting");
      assert.deepEqual(work.started, []);
      gate.open();
      await work.call("a");
    });

    test("the next task does not start, and a result is not told", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
      const result = watch(run.result());
      const first = await work.call("a");
      const gate = world.store.hold();
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
      assert.deepEqual(await run.result(), { a: 1, b: 2 });
      assert.equal(world.store.ledger.status("x"), "Success");
    });

    test("a query of that instance is not answered", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      (await work.call("a")).finish(1);
      const gate = world.store.hold();
      await gate.reached();
      const status = watch(run.getStatus());
      const breakpoint = watch(world.engine.getWorkflowInstanceBreakpoint("x"));
      await world.clock.advance(10_000);
      assert.equal(status.state, "waiting");
      assert.equal(breakpoint.state, "waiting");
      gate.open();
      await world.clock.settle();
      assert.equal(status.value?.status, "Success");
      assert.equal(breakpoint.value?.status, "Success");
    });

    test("a subscriber hears nothing", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const heard: string[] = [];
      world.engine.subscribe((change) => heard.push(`${change.instanceId} ${change.status}`));
      const gate = world.store.hold();
      const submitted = world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      await gate.reached();
      await world.clock.advance(10_000);
      assert.deepEqual(heard, []);
      gate.open();
      await submitted;
      assert.deepEqual(heard, ["x Running"]);
    });

    test("a pause is not answered and takes nothing back", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job], poolSize: 1 });
      const run = await world.engine.submitWorkflow(workflow("wide", task("a"), task("b")), { instanceId: "x" });
      await work.call("a");
      await world.clock.advance(1000);
      const gate = world.store.hold();
      const paused = watch(run.pause());
      await gate.reached();
      await world.clock.advance(1000);
      assert.equal(paused.state, "waiting");
      assert.equal(world.engine.executor.getDomainPoolStatus("default").running, 1);
      assert.equal(world.engine.listDomains()[0]?.waiting, 1);
      gate.open();
      await world.clock.settle();
      assert.equal(paused.state, "done");
      assert.equal(world.engine.listDomains()[0]?.waiting, 0);
    });

    test("a terminate aborts nothing yet", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const { ctx } = await work.call("a");
      const gate = world.store.hold();
      const terminated = watch(run.terminate("enough"));
      await gate.reached();
      await world.clock.advance(1000);
      assert.equal(ctx.signal.aborted, false);
      assert.equal(terminated.state, "waiting");
      gate.open();
      await world.clock.settle();
      assert.equal(ctx.signal.aborted, true);
      assert.equal(terminated.state, "done");
    });

    test("a child does not start, and its parent does not hear of its end", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const parent = workflow("outer", nested("child", chain("inner", "a")), task("after").withDependency("child"));
      const gate = world.store.hold();
      const submitted = world.engine.submitWorkflow(parent, { instanceId: "x" });
      await gate.reached();
      await world.clock.advance(1000);
      assert.equal(world.store.sent.length, 1);
      assert.deepEqual(work.started, []);
      gate.open();
      await submitted;
      const call = await work.call("a");
      assert.equal(world.store.ledger.count("x", "ChildStarted"), 1);
      assert.equal(world.store.ledger.status(call.ctx.instanceId), "Running");
      const ending = world.store.hold();
      call.finish(1);
      await ending.reached();
      await world.clock.advance(1000);
      assert.deepEqual(work.started, ["a"]);
      assert.equal(world.store.ledger.count("x", "TaskSucceeded"), 0);
      ending.open();
      await work.call("after");
      assert.equal(world.store.ledger.status(call.ctx.instanceId), "Success");
    });

    test("a job sees neither context nor parameters that are not durable", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job], poolSize: 1 });
      const wide = workflow("wide", task("a", "work", { n: 1 }), task("b", "work", { n: 1 }));
      await world.engine.submitWorkflow(wide, { instanceId: "x", params: { colour: "red" } });
      const first = await work.call("a");
      await world.clock.advance(1000);
      const gate = world.store.hold();
      const updates = Promise.all([
        world.engine.updateContext("x", { colour: "blue" }),
        world.engine.updateTaskParams("x", "b", { n: 2 }),
      ]);
      await gate.reached();
      first.finish();
      const second = await work.call("b");
      assert.deepEqual(second.context, { colour: "red" });
      assert.deepEqual(second.params, { n: 1 });
      gate.open();
      await updates;
    });
  });

  describe(`when a commit to ${name} fails`, () => {
    test("before it was written, it is sent again and nothing is lost", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      world.store.faults.push("before", "before");
      const submitted = world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const run = await world.clock.until(submitted);
      (await work.call("a")).finish(1);
      assert.deepEqual(await run.result(), { a: 1 });
      assert.equal(world.engine.health.status, "up");
      assert.deepEqual(work.started, ["a"]);
    });

    test("after it was written, it is sent again unchanged, is recognised, and nothing is doubled", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      world.store.faults.push("after");
      const run = await world.clock.until(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" }));
      assert.equal(world.store.sent.length, 2);
      assert.deepEqual(world.store.sent[1], world.store.sent[0]);
      const call = await work.call("a");
      world.store.faults.push("after", "before", "after");
      call.finish(1);
      assert.deepEqual(await world.clock.until(run.result()), { a: 1 });
      const history = await world.engine.getWorkflowInstanceHistory("x");
      assert.deepEqual(
        history.flatMap(({ events }) => events.map(({ type }) => type)),
        ["InstanceCreated", "InstanceStarted", "TasksScheduled", "TaskSucceeded", "InstanceEnded"],
      );
      assert.deepEqual(work.started, ["a"]);
    });

    test("three times, no new work is taken; what ran is written when the store is back", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job], poolSize: 2 });
      const { engine, store } = world;
      const wide = workflow("wide", task("a"), task("b"), task("c"), task("d"));
      const run = await engine.submitWorkflow(wide, { instanceId: "x" });
      const [a, b] = [await work.call("a"), await work.call("b")];
      store.faultOf = () => "before";
      const late = watch(engine.submitWorkflow(chain("late", "z"), { instanceId: "late" }));
      await world.clock.advance(140);
      assert.equal(engine.health.status, "up");
      await world.clock.advance(20);
      assert.equal(engine.health.status, "degraded");
      assert.match(engine.health.problem ?? "", /the disk was pulled out/);
      assert.deepEqual(world.log.messages("error"), ["the store does not take writes; no new work is taken"]);
      await assert.rejects(engine.submitWorkflow(chain("more", "z")), (error) => hasCode(error, "STORE_UNAVAILABLE"));
      await assert.rejects(run.pause(), (error) => hasCode(error, "STORE_UNAVAILABLE"));

      a.finish("A");
      b.finish("B");
      await world.clock.advance(9000);
      assert.equal(late.state, "waiting");
      await world.clock.advance(600_000);
      assert.deepEqual(work.started, ["a", "b"], "free slots stay empty");
      assert.equal(late.state, "failed", "its caller is told that nobody knows");

      store.faultOf = undefined;
      await world.clock.advance(5000);
      assert.equal(engine.health.status, "up");
      assert.equal((await engine.getWorkflowInstanceStatus("late")).status, "Running", "it was not given up");
      for (const name of ["c", "d", "z"]) (await work.call(name)).finish(name);
      assert.deepEqual(await run.result(), { a: "A", b: "B", c: "c", d: "d" });
      assert.deepEqual(work.started.toSorted(), ["a", "b", "c", "d", "z"]);
    });

    test("an instance that has nothing outstanding still answers, from memory", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const { engine, store } = world;
      const idle = await engine.submitWorkflow(chain("one", "a"), { instanceId: "idle" });
      const busy = await engine.submitWorkflow(chain("one", "a"), { instanceId: "busy" });
      await world.clock.advance(1000);
      store.faultOf = () => "before";
      (await work.call("a", { instanceId: "busy" })).finish(1);
      await world.clock.advance(5000);
      assert.equal(engine.health.status, "degraded");
      const status = watch(busy.getStatus());
      assert.equal((await idle.getStatus()).status, "Running");
      await world.clock.settle();
      assert.equal(status.state, "waiting");
      store.faultOf = undefined;
      await world.clock.advance(10_000);
      assert.equal(status.value?.status, "Success");
    });

    test("a stop does not wait for a store that never comes back", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const call = await work.call("a");
      world.store.faultOf = () => "before";
      call.finish(1);
      await world.clock.settle();
      const stopped = world.clock.until(world.engine.stop(), { maxMs: 60_000 });
      await assert.rejects(stopped, (error) => hasCode(error, "STORE_UNAVAILABLE"));
      assert.equal(world.engine.health.status, "stopped");
      await world.begin();
      (await work.call("a", { after: 1 })).finish(2);
      assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 2 });
    });
  });

  describe(`when ${name} refuses the data of one instance`, () => {
    test("that one is quarantined, visibly, and the others of the batch go on", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job], poolSize: 10 });
      const { engine, store } = world;
      const ids = Array.from({ length: 9 }, (_, place) => `i${place}`);
      const runs = await Promise.all(
        ids.map((id) => engine.submitWorkflow(chain("two", "a", "b"), { instanceId: id })),
      );
      const calls = await Promise.all(ids.map((id) => work.call("a", { instanceId: id })));
      const results = runs.map((run) => watch(run.result()));
      store.poison("i4");
      for (const call of calls) call.finish(1);
      await world.clock.settle();
      assert.deepEqual(
        work.calls.filter(({ ctx }) => ctx.taskName === "b").map(({ ctx }) => ctx.instanceId),
        ids.filter((id) => id !== "i4"),
      );
      assert.equal(engine.health.quarantinedInstances, 1);
      assert.equal(engine.health.status, "up");
      assert.ok(hasCode(results[4]?.error, "INSTANCE_QUARANTINED"));
      const listed = await engine.listWorkflowInstances();
      const quarantined = listed.filter((row) => row.quarantined !== null);
      assert.deepEqual(
        quarantined.map(({ id, quarantined }) => [id, quarantined]),
        [["i4", "EngineError: the store does not like these bytes"]],
      );
      await assert.rejects(engine.getWorkflowInstanceStatus("i4"), (error) => hasCode(error, "INSTANCE_QUARANTINED"));
      for (const call of work.calls) if (call.ctx.taskName === "b") call.finish(2);
      await world.clock.settle();
      for (const [place, result] of results.entries()) if (place !== 4) assert.deepEqual(result.value, { a: 1, b: 2 });

      store.faultOf = undefined;
      await engine.resumeWorkflowInstance("i4");
      assert.equal(engine.health.quarantinedInstances, 0);
      (await work.call("a", { instanceId: "i4", after: 1 })).finish(3);
      (await work.call("b", { instanceId: "i4" })).finish(4);
      assert.deepEqual(await engine.awaitWorkflowInstance("i4"), { a: 3, b: 4 });
    });

    test("a start is refused with the reason, and the id stays free", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const { engine, store } = world;
      store.poison("bad");
      const good = engine.submitWorkflow(chain("one", "a"), { instanceId: "good" });
      const bad = engine.submitWorkflow(chain("one", "a"), { instanceId: "bad" });
      const awaited = watch(engine.awaitWorkflowInstance("bad"));
      await assert.rejects(bad, (error) => hasCode(error, "STORE_DATA"));
      await good;
      await world.clock.settle();
      assert.equal(awaited.state, "failed", "nobody waits for the end of what never was");
      assert.equal(engine.health.unfinishedInstances, 1);
      await assert.rejects(engine.getWorkflowInstanceStatus("bad"), (error) => hasCode(error, "INSTANCE_UNKNOWN"));
      store.faultOf = undefined;
      await engine.submitWorkflow(chain("one", "a"), { instanceId: "bad" });
    });

    test("a retry of an ended instance is refused, and the instance stays as it ended", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const { engine, store } = world;
      const run = await engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      (await work.call("a")).fail(new Error("no"));
      await assert.rejects(run.result(), (error) => hasCode(error, "WORKFLOW_FAILED"));
      store.poison("x");
      const retried = engine.retryWorkflowInstance("x");
      await assert.rejects(retried, (error) => hasCode(error, "STORE_DATA"));
      assert.equal(engine.health.quarantinedInstances, 0);
      assert.equal((await run.getStatus()).status, "Failed");
      store.faultOf = undefined;
      await engine.retryWorkflowInstance("x");
      (await work.call("a", { after: 1 })).finish(1);
      assert.deepEqual(await run.result(), { a: 1 });
    });

    test("what runs of a quarantined instance is stopped, and runs again when it is resumed", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      const { engine, store } = world;
      await engine.submitWorkflow(workflow("wide", task("a"), task("b")), { instanceId: "x" });
      const [a, b] = [await work.call("a"), await work.call("b")];
      await world.clock.advance(1000);
      store.poison("x");
      a.finish(1);
      await world.clock.settle();
      assert.equal(engine.health.quarantinedInstances, 1);
      assert.equal(b.ctx.signal.aborted, true);
      assert.equal(engine.health.runningTasks, 0);
      store.faultOf = undefined;
      await engine.resumeWorkflowInstance("x");
      (await work.call("a", { after: 1 })).finish("A");
      (await work.call("b", { after: 1 })).finish("B");
      assert.deepEqual(await engine.awaitWorkflowInstance("x"), { a: "A", b: "B" });
    });

    test("a quarantined instance stays quarantined over a restart", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job] });
      await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
      const call = await work.call("a");
      world.store.poison("x");
      call.finish(1);
      await world.clock.settle();
      world.store.faultOf = undefined;
      await world.restart();
      assert.equal(world.engine.health.quarantinedInstances, 1);
      await world.clock.advance(1000);
      assert.equal(work.calls.length, 1);
      await world.engine.resumeWorkflowInstance("x");
      (await work.call("a", { after: 1 })).finish(2);
      assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 2 });
    });
  });

  describe(`when another owner has taken over the shard in ${name}`, () => {
    test("callers get the error, nothing leaves, and the engine says so", async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { inner: inner(), jobs: [work.job], poolSize: 3 });
      const { engine, store } = world;
      const heard: string[] = [];
      const run = await engine.submitWorkflow(workflow("wide", task("a"), task("b").withDependency("a")), {
        instanceId: "x",
      });
      const call = await work.call("a");
      const result = watch(run.result());
      engine.subscribe(({ instanceId }) => heard.push(instanceId));
      await store.disk.inner.claimShard(0, "somebody else");
      const submitted = watch(engine.submitWorkflow(chain("late", "z"), { instanceId: "late" }));
      const paused = watch(run.pause());
      call.finish(1);
      await world.clock.settle();
      for (const watched of [submitted, paused, result])
        assert.ok(hasCode(watched.error, "STORE_FENCED"), watched.state);
      assert.deepEqual(work.started, ["a"]);
      assert.deepEqual(heard, []);
      assert.equal(engine.health.status, "degraded");
      assert.match(engine.health.problem ?? "", /was refused/);

      const later = [
        watch(engine.submitWorkflow(chain("later", "z"))),
        watch(run.getStatus()),
        watch(run.result()),
        watch(run.terminate()),
        watch(engine.purgeWorkflowInstances({ instanceId: "x" })),
      ];
      await world.clock.advance(120_000);
      assert.deepEqual(
        later.map(({ state }) => state),
        later.map(() => "failed"),
        "nobody waits for an engine that does nothing more",
      );
      assert.deepEqual(work.started, ["a"]);
      const stopped = watch(engine.stop());
      await world.clock.advance(10_000);
      assert.notEqual(stopped.state, "waiting");
    });
  });

  test(`a bug in one instance's turn quarantines that one, and ${name} gets the turns of the others`, async (t) => {
    const work = new HandJob();
    const trip = { armed: false };
    const fine = defineJob("fine", () => 1);
    const world = await World.start(t, {
      inner: inner(),
      jobs: [work.job, fine],
      random: {
        next: () => {
          if (!trip.armed) return 0.5;
          trip.armed = false;
          throw new TypeError("a bug of ours");
        },
        uuid: () => "",
      },
    });
    const { engine } = world;
    for (const id of ["x", "y", "z"]) await engine.submitWorkflow(chain("two", "a", "b"), { instanceId: id });
    const calls = await Promise.all(["x", "y", "z"].map((id) => work.call("a", { instanceId: id })));
    await world.clock.advance(1000);
    trip.armed = true;
    for (const call of calls) call.finish(1);
    await world.clock.settle();
    assert.equal(engine.health.quarantinedInstances, 1);
    for (const id of ["y", "z"]) {
      (await work.call("b", { instanceId: id })).finish(2);
      assert.deepEqual(await engine.awaitWorkflowInstance(id), { a: 1, b: 2 });
    }
    const kept = await Promise.all(
      ["x", "y", "z"].map((id) => world.disk.inner.loadHistory([world.store.ledger.key(id)])),
    );
    assert.deepEqual(
      kept.map((turns) => turns.length),
      [2, 4, 4],
    );
    assert.equal((await engine.listWorkflowInstances({ idPrefix: "x" }))[0]?.quarantined, "TypeError: a bug of ours");
    await engine.resumeWorkflowInstance("x");
    (await work.call("a", { instanceId: "x", after: 1 })).finish(3);
    (await work.call("b", { instanceId: "x" })).finish(4);
    assert.deepEqual(await engine.awaitWorkflowInstance("x"), { a: 3, b: 4 });
  });
}
