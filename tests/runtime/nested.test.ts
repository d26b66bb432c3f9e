/** Parents and children, and the messages between them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { defineJob } from "../../src/authoring/job.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { HandJob } from "./hand-job.ts";
import { watch, World } from "./world.ts";
import { builder, chain, nested, task, workflow } from "./workflows.ts";

const child = chain("inner", "a", "b");
const parent = workflow("outer", nested("n", child), task("after").withDependency("n"));

describe("a nested workflow", () => {
  test("begins with its parent's context, and what it changes comes back", async (t) => {
    const work = new HandJob();
    const patch = defineJob("patch", (_: unknown, ctx) => {
      ctx.patchContext({ colour: "blue", shape: null, size: 3 });
      return ctx.context;
    });
    const world = await World.start(t, { jobs: [work.job, patch] });
    const inner = workflow("inner", task("p", "patch"));
    const outer = workflow("outer", nested("n", inner), task("after").withDependency("n"));
    await world.engine.submitWorkflow(outer, {
      instanceId: "x",
      params: { colour: "red", shape: "round", untouched: 1 },
    });
    const call = await work.call("after");
    assert.deepEqual(call.context, { colour: "blue", size: 3, untouched: 1 });
    assert.deepEqual(call.ctx.outputs, { n: { p: { colour: "red", shape: "round", untouched: 1 } } });
    const view = await world.engine.getWorkflowInstanceStatus("x/n");
    assert.equal(view.parentInstanceId, "x");
    assert.equal(view.status, "Success");
  });

  test("that fails fails its task, and gives nothing back", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const run = await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).fail(new Error("no such table"));
    await assert.rejects(run.result(), /nested workflow instance "x\/n" ended in Failed: .*no such table/);
  });

  test("is paused, resumed and terminated with its parent", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const { engine, clock } = world;
    const deep = workflow("deep", nested("m", parent));
    const run = await engine.submitWorkflow(deep, { instanceId: "x" });
    const a = await work.call("a");
    const status = async (id: string): Promise<string> => (await engine.getWorkflowInstanceStatus(id)).status;
    const statuses = (): Promise<string[]> => Promise.all(["x", "x/m", "x/m/n"].map(status));
    await run.pause();
    await clock.settle();
    a.finish(1);
    await clock.settle();
    assert.deepEqual(await statuses(), ["Paused", "Paused", "Paused"]);
    assert.deepEqual(work.started, ["a"]);
    await run.resume();
    const b = await work.call("b");
    assert.deepEqual(await statuses(), ["Running", "Running", "Running"]);
    await run.terminate("enough");
    await clock.settle();
    assert.deepEqual(await statuses(), ["Terminated", "Terminated", "Terminated"]);
    assert.equal(b.ctx.signal.aborted, true);
    assert.equal((await engine.getWorkflowInstanceStatus("x/m/n")).reason, "enough");
    assert.equal(engine.health.unfinishedInstances, 0);
  });

  test("hears of an order that comes in the same breath as its start", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const submitted = world.engine.submitWorkflow(parent, { instanceId: "x" });
    const terminated = world.clock.until(retryUntilKnown(() => world.engine.terminateWorkflowInstance("x", "at once")));
    await submitted;
    await terminated;
    await world.clock.settle();
    assert.equal((await world.engine.getWorkflowInstanceStatus("x/n")).status, "Terminated");
    assert.deepEqual(work.started, []);
    assert.equal(world.engine.health.unfinishedInstances, 0);
  });

  test("that was retried goes on where it stopped", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const run = await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).finish(1);
    (await work.call("b")).fail(new Error("once"));
    await assert.rejects(run.result(), (error) => hasCode(error, "WORKFLOW_FAILED"));
    await world.engine.retryWorkflowInstance("x");
    (await work.call("b", { after: 1 })).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await run.result(), { n: { a: 1, b: 2 }, after: 3 });
    assert.deepEqual(work.started, ["a", "b", "b", "after"]);
  });

  test("works again when its parent's id is used again", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    for (let life = 0; life < 3; life++) {
      const run = await world.engine.submitWorkflow(parent, { instanceId: "x", reuse: true });
      for (const name of ["a", "b", "after"]) (await work.call(name, { after: life })).finish(`${name}${life}`);
      assert.deepEqual(await run.result(), { n: { a: `a${life}`, b: `b${life}` }, after: `after${life}` });
      if (life === 1) assert.equal(await world.engine.purgeWorkflowInstances({ instanceId: "x" }), 2);
    }
  });

  test("whose id is taken by somebody else fails, and says so", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("squatter", "s"), { instanceId: "x/n" });
    const run = await world.engine.submitWorkflow(parent, { instanceId: "x" });
    await assert.rejects(run.result(), /an active instance with id "x\/n" already exists/);
    assert.equal((await world.engine.getWorkflowInstanceStatus("x/n")).workflowName, "squatter");
  });

  test("cannot nest for ever", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    let deepest: Workflow = chain("w0", "a");
    for (let depth = 1; depth <= 34; depth++) deepest = workflow(`w${depth}`, nested("n", deepest));
    const run = await world.engine.submitWorkflow(deepest, { instanceId: "x" });
    await assert.rejects(run.result(), /nested more than 32 deep/);
    assert.equal(world.engine.health.unfinishedInstances, 0);
  });

  test("many children share commits, and all come home", async (t) => {
    const done = defineJob("done", () => 1);
    const world = await World.start(t, { jobs: [done] });
    const inner = workflow("inner", task("a", "done"));
    const names = Array.from({ length: 100 }, (_, place) => `n${place}`);
    const wide = builder("wide", ...names.map((name) => nested(name, inner)))
      .withMaxConcurrentTasks(100)
      .build();
    const run = await world.engine.submitWorkflow(wide, { instanceId: "x" });
    assert.deepEqual(await run.result(), Object.fromEntries(names.map((name) => [name, { a: 1 }])));
    assert.ok(world.store.sent.length < 20, `${world.store.sent.length} commits`);
    await world.clock.settle();
    await world.restart();
    assert.deepEqual(await world.disk.inner.loadOutbox([0]), [], "messages that were read are gone");
  });
});

describe("a crash", () => {
  test("between a parent's commit and its child's start: the child starts exactly once", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const gate = world.store.hold("after");
    watch(world.engine.submitWorkflow(parent, { instanceId: "x" }));
    await gate.reached();
    assert.equal((await world.disk.inner.loadOutbox([0])).length, 1);
    await world.crash();
    (await work.call("a")).finish(1);
    (await work.call("b")).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { n: { a: 1, b: 2 }, after: 3 });
    assert.deepEqual(work.started, ["a", "b", "after"]);
  });

  test("after a child's start: it is not started twice", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    const call = await work.call("a");
    call.finish(1);
    await work.call("b");
    await world.crash();
    (await work.call("b", { after: 1 })).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { n: { a: 1, b: 2 }, after: 3 });
    assert.deepEqual(work.started, ["a", "b", "b", "after"]);
    assert.equal(world.disk.ledger.count("x/n", "InstanceCreated"), 1);
  });

  test("between a child's end and its parent's hearing of it: the parent hears exactly once", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).finish(1);
    const last = await work.call("b");
    await world.clock.advance(1000);
    const gate = world.store.hold("after");
    last.finish(2);
    await gate.reached();
    await world.crash();
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { n: { a: 1, b: 2 }, after: 3 });
    assert.equal(world.disk.ledger.events("x").filter((event) => event.type === "TaskSucceeded").length, 2);
  });

  test("at every commit of a nested run leaves nothing lost and nothing doubled", async (t) => {
    for (const stage of ["before", "after"] as const) {
      for (let crashAt = 1; crashAt <= 9; crashAt++) {
        const ran: string[] = [];
        const count = defineJob("count", (_: unknown, ctx) => void ran.push(ctx.attemptId));
        const world = await World.start(t, { jobs: [count] });
        const inner = workflow("inner", task("a", "count"), task("b", "count").withDependency("a"));
        const outer = workflow("outer", nested("n", inner), task("c", "count").withDependency("n"));
        let commits = 0;
        const gate = Promise.withResolvers<void>();
        world.store.onSend = () => {
          if (++commits !== crashAt) return;
          void world.store.hold(stage).reached().then(gate.resolve);
        };
        const submitted = watch(world.engine.submitWorkflow(outer, { instanceId: "x" }));
        await world.clock.settle();
        if (commits < crashAt) {
          world.store.onSend = undefined;
          break;
        }
        await gate.promise;
        await world.crash();
        await world.clock.advance(1000);
        if (submitted.state !== "done" && world.disk.ledger.status("x") === undefined) {
          const known = await world.engine.listWorkflowInstances({ idPrefix: "x" });
          if (known.length === 0) continue;
        }
        await world.clock.until(world.engine.awaitWorkflowInstance("x"));
        const completed = new Set(ran);
        assert.deepEqual([...completed].toSorted(), ["x/n:1:0:1", "x/n:1:1:1", "x:1:1:1"], `${stage} ${crashAt}`);
        for (const id of ["x", "x/n"]) {
          const turns = await world.engine.getWorkflowInstanceHistory(id);
          const events = turns.flatMap(({ events }) => events);
          assert.equal(events.filter(({ type }) => type === "InstanceCreated").length, 1, `${stage} ${crashAt}`);
          assert.equal(events.filter(({ type }) => type === "TaskSucceeded").length, 2, `${stage} ${crashAt}`);
        }
        assert.equal(world.engine.health.unfinishedInstances, 0);
      }
    }
  });
});

describe("a stop in the middle of a child's start", () => {
  test("loses neither parent nor child, and nobody hears an error", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const slow = Promise.withResolvers<void>();
    world.store.beforeRead = (what) => (what === "findFinished" ? slow.promise : Promise.resolve());
    const submitted = world.engine.submitWorkflow(parent);
    await world.clock.settle();
    const { instanceId } = await submitted;
    const stopped = world.engine.stop();
    await world.clock.settle();
    slow.resolve();
    await world.clock.until(stopped);
    await world.begin();
    (await work.call("a")).finish(1);
    (await work.call("b")).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance(instanceId), { n: { a: 1, b: 2 }, after: 3 });
  });
});

describe("a store that cannot be read for a while", () => {
  test("fails no child and loses no message", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: 60_000 });
    const submitted = world.engine.submitWorkflow(parent);
    world.store.readsFail = true;
    const { instanceId } = await submitted;
    await world.clock.advance(60_000);
    assert.deepEqual(work.started, []);
    world.store.readsFail = false;
    await world.clock.advance(1000);
    (await work.call("a")).finish(1);
    (await work.call("b")).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance(instanceId), { n: { a: 1, b: 2 }, after: 3 });
  });
});

describe("an engine that is stopped while the store cannot be read", () => {
  test("keeps the messages that it could not hand on", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).finish("x".repeat(5000));
    const last = await work.call("b");
    await world.clock.advance(1000);
    world.store.readsFail = true;
    last.finish("y".repeat(5000));
    await world.clock.advance(1000);
    assert.equal(world.disk.ledger.status("x/n"), "Success");
    await world.clock.until(world.engine.stop());
    await world.begin();
    (await work.call("after")).finish(3);
    const outputs = await world.engine.awaitWorkflowInstance("x");
    assert.deepEqual(outputs["n"], { a: "x".repeat(5000), b: "y".repeat(5000) });
  });

  test("starts a child that it could not start before", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const submitted = world.engine.submitWorkflow(parent);
    world.store.readsFail = true;
    const { instanceId } = await submitted;
    await world.clock.advance(1000);
    await world.clock.until(world.engine.stop());
    await world.begin();
    for (const name of ["a", "b", "after"]) (await work.call(name)).finish(name);
    assert.deepEqual(await world.engine.awaitWorkflowInstance(instanceId), { n: { a: "a", b: "b" }, after: "after" });
    assert.deepEqual(work.started, ["a", "b", "after"]);
  });
});

describe("when one of the family is quarantined", () => {
  test("a message that lay in its inbox just then is told again, and its number does not block those after it", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).finish("x".repeat(5000));
    const last = await work.call("b");
    await world.clock.advance(1000);
    const slow = Promise.withResolvers<void>();
    world.store.beforeRead = (what) => (what === "loadPayloads" ? slow.promise : Promise.resolve());
    last.finish(2);
    await world.clock.settle();
    world.store.poison("x");
    const gate = world.store.hold();
    const updated = watch(world.engine.updateContext("x", { y: 1 }));
    await gate.reached();
    slow.resolve();
    await world.clock.settle();
    gate.open();
    await world.clock.settle();
    assert.ok(hasCode(updated.error, "STORE_DATA"));
    world.store.faultOf = undefined;
    await world.engine.resumeWorkflowInstance("x");
    (await work.call("after")).finish(3);
    assert.equal((await world.engine.awaitWorkflowInstance("x"))["after"], 3);
    await world.clock.settle();
    await world.clock.until(world.engine.stop());
    assert.deepEqual(await world.disk.inner.loadOutbox([0]), []);
    await world.begin();
  });

  test("a parent that was quarantined while its child ended hears of the end when it is resumed", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).finish(1);
    const last = await work.call("b");
    await world.clock.advance(1000);
    world.store.poison("x");
    await assert.rejects(world.engine.updateContext("x", { y: 1 }), (error) => hasCode(error, "STORE_DATA"));
    assert.equal(world.engine.health.quarantinedInstances, 1);
    last.finish(2);
    await world.clock.settle();
    assert.equal(world.disk.ledger.status("x/n"), "Success");
    world.store.faultOf = undefined;
    await world.engine.resumeWorkflowInstance("x");
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { n: { a: 1, b: 2 }, after: 3 });
    await world.clock.settle();
    await world.restart();
    assert.deepEqual(await world.disk.inner.loadOutbox([0]), []);
  });

  test("a parent that is quarantined by the very message hears of the end when it is resumed", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    (await work.call("a")).finish(1);
    const last = await work.call("b");
    await world.clock.advance(1000);
    world.store.poison("x");
    last.finish(2);
    await world.clock.settle();
    assert.equal(world.engine.health.quarantinedInstances, 1);
    world.store.faultOf = undefined;
    await world.engine.resumeWorkflowInstance("x");
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { n: { a: 1, b: 2 }, after: 3 });
  });

  test("a parent that is resumed before its child has ended waits on", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(parent, { instanceId: "x" });
    const first = await work.call("a");
    world.store.poison("x");
    await assert.rejects(world.engine.updateContext("x", { y: 1 }), (error) => hasCode(error, "STORE_DATA"));
    world.store.faultOf = undefined;
    await world.engine.resumeWorkflowInstance("x");
    await world.clock.settle();
    first.finish(1);
    (await work.call("b")).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { n: { a: 1, b: 2 }, after: 3 });
    assert.deepEqual(work.started, ["a", "b", "after"]);
  });

  test("a start of a child that the store refuses leaves later messages their way", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    world.store.poison("bad");
    const bad = world.engine.submitWorkflow(parent, { instanceId: "bad" });
    await assert.rejects(bad, (error) => hasCode(error, "STORE_DATA"));
    world.store.faultOf = undefined;
    await world.engine.submitWorkflow(parent, { instanceId: "good" });
    (await work.call("a")).finish(1);
    (await work.call("b")).finish(2);
    (await work.call("after")).finish(3);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("good"), { n: { a: 1, b: 2 }, after: 3 });
    await world.clock.settle();
    await world.restart();
    assert.deepEqual(await world.disk.inner.loadOutbox([0]), [], "every message was read");
    assert.deepEqual(work.started, ["a", "b", "after"]);
  });

  test("a crash right after the store refused a message leaves later messages their way", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    world.store.poison("bad");
    let isGoodSent = false;
    world.store.onSend = (batch) => {
      const ids = world.disk.ledger.idsIn(batch);
      if (isGoodSent) world.store.hold("before");
      isGoodSent ||= ids.length === 1 && ids[0] === "good";
    };
    const bad = watch(world.engine.submitWorkflow(parent, { instanceId: "bad" }));
    const good = watch(world.engine.submitWorkflow(parent, { instanceId: "good" }));
    await world.clock.settle();
    assert.ok(hasCode(bad.error, "STORE_DATA"));
    assert.equal(good.state, "done");
    await world.crash();
    for (const name of ["a", "b", "after"]) (await work.call(name)).finish(1);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("good"), { n: { a: 1, b: 1 }, after: 1 });
  });

  test("a child that the store refuses fails its parent's task, and nobody waits for ever", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    world.store.poison("x/n");
    const run = await world.engine.submitWorkflow(parent, { instanceId: "x" });
    await assert.rejects(world.clock.until(run.result()), /the store does not like these bytes/);
  });
});

/** A start is known to others a moment after it was asked for. */
async function retryUntilKnown(call: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!hasCode(error, "INSTANCE_UNKNOWN")) throw error;
    }
  }
}
