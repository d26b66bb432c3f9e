/** Spec §5.8: what an instance waits for. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, type InstanceView, TaskBuilder, type Wait } from "../../src/index.ts";
import { CodeRig } from "./code-rig.ts";
import { startEngine, task, untilInstance, workflow } from "./rig.ts";

/** Kinds with what tells one wait from another. */
function inWords({ waiting }: InstanceView): string[] {
  return waiting.map((wait) => `${wait.kind} ${"reason" in wait ? wait.reason : wait.text}`);
}

function firstOf({ waiting }: InstanceView): Wait {
  const [first] = waiting;
  assert.ok(first !== undefined, "it waits for something");
  return first;
}

/** The number of the line in this file that has this mark. */
function lineWith(mark: string, source: string): number {
  return source.split("\n").findIndex((line) => line.endsWith(`// ${mark}`)) + 1;
}

const source = await import("node:fs/promises").then(({ readFile }) => readFile(import.meta.filename, "utf8"));

const order = defineWorkflow("order", async (ctx) => {
  await ctx.waitForEvent("approve"); // approve
  await ctx.sleep(60_000); // sleep
  await ctx.callChild("ship", undefined, { instanceId: "shipping" }); // ship
  await ctx.run("hold"); // charge
});
const ship = defineWorkflow("ship", async (ctx) => await ctx.waitForEvent("shipped"));

describe("5.8 code says what it waits for", () => {
  test("with its file and line, and since when: an event, a timer, a child, a task", async (t) => {
    const held = Promise.withResolvers<void>();
    const hold = defineJob("hold", () => held.promise);
    const rig = await CodeRig.start(t, { workflows: [order, ship], jobs: [hold] });
    const handle = await rig.engine.startWorkflow(order, undefined, { instanceId: "o" });
    const startedAt = rig.clock.now();
    const place = (mark: string) => ({ file: import.meta.filename, line: lineWith(mark, source) });
    const { kind, text, since, ...rest } = firstOf(await handle.getStatus());
    assert.deepEqual([kind, text, since], ["event", 'event "approve"', startedAt]);
    assert.deepEqual(rest, { name: "approve", dueAt: undefined, line: place("approve") });

    await rig.clock.advance(5000);
    await handle.raiseEvent("approve");
    const asleep = firstOf(await handle.getStatus());
    assert.deepEqual(asleep, {
      kind: "timer",
      text: `its timer, due at ${new Date(startedAt + 65_000).toISOString()}`,
      since: startedAt + 5000,
      line: place("sleep"),
      dueAt: startedAt + 65_000,
    });

    await rig.clock.advance(60_000);
    const child = firstOf(await handle.getStatus());
    assert.deepEqual(
      [child.kind, child.since, "line" in child && child.line],
      ["child", rig.clock.now(), place("ship")],
    );
    assert.equal(child.kind === "child" && child.childInstanceId, "shipping");

    await rig.engine.raiseEvent("shipping", "shipped");
    await rig.settle();
    const [running] = (await handle.getStatus()).waiting;
    assert.ok(running?.kind === "task" && running.reason === "running");
    assert.deepEqual([running.taskName, running.job, running.line], ["hold", "hold", place("charge")]);
    held.resolve();
    await rig.clock.until(handle.result());
    assert.deepEqual((await handle.getStatus()).waiting, [], "nothing after its end");
  });

  test("and which events came that it has not waited for", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [order, ship] });
    const handle = await rig.engine.startWorkflow(order);
    await handle.raiseEvent("Approve", { by: "ann" });
    await rig.clock.advance(1000);
    await handle.raiseEvent("Approve");
    const { untakenEvents, waiting } = await handle.getStatus();
    assert.deepEqual(untakenEvents, [{ name: "Approve", count: 2, since: rig.clock.now() - 1000 }]);
    assert.equal(waiting.length, 1);
  });

  test("also after a restart, before anything has woken it", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [order, ship] });
    const { instanceId } = await rig.engine.startWorkflow(order);
    const startedAt = rig.clock.now();
    await rig.away(10_000);
    const wait = firstOf(await rig.engine.getWorkflowInstanceStatus(instanceId));
    assert.deepEqual([wait.kind, wait.text, wait.since], ["event", 'event "approve"', startedAt]);
    assert.equal((await rig.eventTypes(instanceId)).length, 2, "to look at it has changed nothing");
  });

  test("and that it waits for its code, where that is missing", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [order, ship] });
    const { instanceId } = await rig.engine.startWorkflow(order);
    await rig.restart({ workflows: [] });
    const view = await rig.engine.getWorkflowInstanceStatus(instanceId);
    assert.deepEqual(inWords(view), ["instance code"]);
    assert.match(firstOf(view).text, /^its code: the code of workflow "order" .* is not registered/);
    assert.equal(firstOf(view).since, rig.clock.now());
    assert.equal(view.attention, firstOf(view).text.slice("its code: ".length));
  });

  test("an update that is not answered, and who has paused it", async (t) => {
    const slow = defineWorkflow("slow", async (ctx) => {
      ctx.onUpdate("approve", async () => await ctx.waitForEvent("decided"));
      await ctx.waitForEvent("end");
    });
    const rig = await CodeRig.start(t, { workflows: [slow] });
    const handle = await rig.engine.startWorkflow(slow);
    const answer = handle.update("approve").catch(() => "the engine was stopped");
    await rig.settle();
    assert.deepEqual(inWords(await handle.getStatus()), [
      'event event "end"',
      'event event "decided"',
      'update the code to answer update "approve"',
    ]);
    await handle.pause({ by: "ann", reason: "db move" });
    const { text, since } = firstOf(await handle.getStatus());
    assert.deepEqual([text, since], ["the instance to be resumed, which ann has paused: db move", rig.clock.now()]);
    await rig.restart();
    assert.equal(firstOf(await rig.engine.getWorkflowInstanceStatus(handle.instanceId)).text, text);
    await rig.engine.resumeWorkflowInstance(handle.instanceId);
    await rig.engine.raiseEvent(handle.instanceId, "decided", "yes");
    await rig.engine.raiseEvent(handle.instanceId, "end");
    assert.equal(await answer, "the engine was stopped");
    await rig.clock.until(rig.engine.awaitWorkflowInstance(handle.instanceId));
  });
});

describe("5.8 a DAG says what it waits for", () => {
  test("tasks that run, that wait for a slot, for a job, for the limit of the instance", async (t) => {
    const held = Promise.withResolvers<void>();
    const engine = await startEngine(t, {
      jobs: [defineJob("hold", () => held.promise)],
      poolSize: 2,
      domains: { narrow: { size: 1 } },
    });
    const tasks = [
      task("a", "hold").withDomain("narrow"),
      task("b", "hold").withDomain("narrow"),
      task("c", "hold"),
      task("d", "hold"),
    ];
    const { instanceId } = await engine.submitWorkflow(workflow("w", ...tasks), { maxConcurrentTasks: 3 });
    const view = await untilInstance(engine, instanceId, ({ waiting }) =>
      waiting.some((wait) => wait.kind === "task" && wait.worker !== undefined),
    );
    const reasons = view.waiting.map((wait) => wait.kind === "task" && `${wait.taskName} ${wait.reason}`);
    assert.deepEqual(new Set(reasons), new Set(["a running", "b domain", "c running", "d instance-limit"]));
    const narrow = view.waiting.find((wait) => wait.kind === "task" && wait.taskName === "b");
    assert.deepEqual(narrow?.kind === "task" && narrow.slots, { domain: "narrow", size: 1, running: 1, waiting: 1 });
    assert.ok(view.waiting.every(({ since }) => since !== undefined));
    const b = view.tasks.find(({ name }) => name === "b");
    assert.deepEqual([b?.wait?.reason, b?.wait?.text], ["domain", "a free slot in domain narrow"]);
    held.resolve();
    await engine.awaitWorkflowInstance(instanceId);
  });

  test("its child, which is paused with it by the same person", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [ship] });
    const run = await rig.engine.submitWorkflow(workflow("w", new TaskBuilder("n").withNestedWorkflow(ship)));
    await rig.settle();
    const child = firstOf(await run.getStatus());
    assert.ok(child.kind === "child" && child.childInstanceId !== undefined);
    await run.pause({ by: "bob" });
    await rig.settle();
    assert.deepEqual(inWords(await run.getStatus()), ["instance paused", `child ${child.text}`]);
    assert.match(
      firstOf(await rig.engine.getWorkflowInstanceStatus(child.childInstanceId)).text,
      /which bob has paused/,
    );
  });
});
