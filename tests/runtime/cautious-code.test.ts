/** After an unclean start, reactions of workflow code are recorded before they run; those lost with their process count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineJob } from "../../src/authoring/job.ts";
import { hasCode } from "../../src/base/error.ts";
import { defineWorkflow, TaskBuilder, WorkflowBuilder, type WorkflowContext } from "../../src/index.ts";
import { watch, World } from "./world.ts";

const echo = defineJob("echo", (text: string) => text);

/** Its code ends the process where it is told to: what follows happens to nobody. */
class Poison {
  isDeadly = true;
  ends = 0;
  world: World | undefined;

  readonly workflow = defineWorkflow("poison", async (ctx: WorkflowContext) => {
    await ctx.run(echo, "a");
    await ctx.sleep(1000);
    if (this.isDeadly) {
      this.ends++;
      this.world?.kill();
      await new Promise(() => undefined);
    }
    return "survived";
  });
}

const good = defineWorkflow("good", async (ctx: WorkflowContext) => {
  const events = [];
  for (let n = 0; n < 3; n++) events.push(await ctx.waitForEvent("next"));
  return events.length;
});

async function isParked(world: World, id: string): Promise<boolean> {
  try {
    await world.engine.getWorkflowInstanceStatus(id);
    return false;
  } catch (error) {
    assert(hasCode(error, "INSTANCE_QUARANTINED"), String(error));
    assert.match(error.message, /CrashLoop: its code ended or blocked the process 4 times at step 2/);
    return true;
  }
}

async function eventTypes(world: World, id: string): Promise<string[]> {
  const turns = await world.engine.getWorkflowInstanceHistory(id);
  return turns.flatMap(({ events }) => events.map(({ type }) => type));
}

/** Lives until the poison has killed it, or has not. */
async function die(world: World, poison: Poison): Promise<void> {
  const { ends } = poison;
  for (let n = 0; n < 20 && poison.ends === ends; n++) await world.clock.advance(500);
}

async function start(t: Parameters<typeof World.start>[0], poison: Poison): Promise<World> {
  const world = await World.start(t, { jobs: [echo], workflows: [poison.workflow, good] });
  poison.world = world;
  await world.engine.startWorkflow(poison.workflow, undefined, { instanceId: "p" });
  await world.engine.startWorkflow(good, undefined, { instanceId: "g" });
  return world;
}

test("a reaction that is lost four times quarantines its instance, and no other", async (t) => {
  const poison = new Poison();
  const world = await start(t, poison);
  for (let life = 1; life <= 5; life++) {
    await die(world, poison);
    assert.equal(poison.ends, life);
    await world.crash();
  }
  await die(world, poison);
  assert.equal(poison.ends, 5, "once before it was recorded, and four times counted");
  assert(await isParked(world, "p"));
  for (let n = 0; n < 3; n++) await world.engine.raiseEvent("g", "next");
  assert.equal(await world.engine.awaitWorkflowInstance("g"), 3);
  assert.equal(world.engine.health.quarantinedInstances, 1);
  await world.crash();
  await die(world, poison);
  assert(await isParked(world, "p"), "also in the next life");

  poison.isDeadly = false;
  await world.engine.resumeWorkflowInstance("p");
  await world.clock.advance(5000);
  assert.equal(await world.engine.awaitWorkflowInstance("p"), "survived");
});

test("after a resume the losses are counted anew", async (t) => {
  const poison = new Poison();
  const world = await start(t, poison);
  while (poison.ends < 5) {
    await die(world, poison);
    await world.crash();
  }
  await world.clock.advance(1);
  assert(await isParked(world, "p"));
  void world.engine.resumeWorkflowInstance("p").catch(() => undefined);
  for (let life = 1; life <= 3; life++) {
    await die(world, poison);
    assert.equal(poison.ends, 5 + life);
    if (life === 3) poison.isDeadly = false;
    await world.crash();
  }
  await world.clock.advance(5000);
  assert.equal(await world.engine.awaitWorkflowInstance("p"), "survived");
});

test("an orderly stop is free, and nothing is recorded after it", async (t) => {
  const poison = new Poison();
  poison.isDeadly = false;
  const world = await start(t, poison);
  for (let n = 0; n < 10; n++) await world.restart();
  await world.engine.raiseEvent("g", "next");
  await world.clock.advance(5000);
  assert.equal(await world.engine.awaitWorkflowInstance("p"), "survived");
  for (const id of ["p", "g"]) {
    assert(!(await eventTypes(world, id)).includes("ReactionStarted"), `${id} pays for nothing`);
  }
});

test("reactions that come through are no losses, however often the process is killed", async (t) => {
  const poison = new Poison();
  poison.isDeadly = false;
  const world = await start(t, poison);
  for (let n = 0; n < 10; n++) {
    await world.crash();
    await world.clock.advance(50);
  }
  await world.clock.advance(5000);
  assert.equal(await world.engine.awaitWorkflowInstance("p"), "survived");
  const types = await eventTypes(world, "g");
  assert.equal(
    types.filter((type) => type === "ReactionStarted").length,
    types.filter((type) => type === "ReactionEnded").length,
  );
});

test("a reaction stops being recorded after ten have come through", async (t) => {
  const ticking = defineWorkflow("ticking", async (ctx: WorkflowContext) => {
    for (let n = 0; n < 30; n++) await ctx.sleep(100);
    return "done";
  });
  const world = await World.start(t, { jobs: [echo], workflows: [ticking] });
  await world.engine.startWorkflow(ticking, undefined, { instanceId: "t" });
  await world.crash();
  await world.clock.advance(10_000);
  assert.equal(await world.engine.awaitWorkflowInstance("t"), "done");
  const types = await eventTypes(world, "t");
  assert.equal(types.filter((type) => type === "ReactionStarted").length, 10);
});

test("a child that ends the process at its first step is found out, though it was never durable", async (t) => {
  const ended: { world?: World; count: number } = { count: 0 };
  const child = defineWorkflow("child", async () => {
    ended.count++;
    ended.world?.kill();
    await new Promise(() => undefined);
  });
  const parent = defineWorkflow("parent", (ctx: WorkflowContext) =>
    ctx.callChild(child, undefined, { instanceId: "c" }),
  );
  const world = await World.start(t, { jobs: [echo], workflows: [child, parent] });
  ended.world = world;
  await world.engine.startWorkflow(parent, undefined, { instanceId: "p" });
  for (let life = 1; life <= 5; life++) {
    await world.clock.advance(5000);
    assert.equal(ended.count, life);
    await world.crash();
  }
  await world.clock.advance(5000);
  assert.equal(ended.count, 5);
  await assert.rejects(world.engine.getWorkflowInstanceStatus("c"), /4 times at step 0/);
  assert.equal((await world.engine.getWorkflowInstanceStatus("p")).status, "Running");
});

test("a fork whose first reaction is recorded replays what was copied as it was", async (t) => {
  let isNew = false;
  const patient = defineWorkflow("patient", async (ctx: WorkflowContext) => {
    const isPatched = isNew && ctx.patched("later");
    const said = await ctx.run(echo, "a");
    await ctx.waitForEvent("go");
    return [said, await ctx.run(echo, "b"), isPatched];
  });
  const world = await World.start(t, { jobs: [echo], workflows: [patient] });
  await world.engine.startWorkflow(patient, undefined, { instanceId: "old" });
  await world.clock.advance(1000);
  await world.engine.raiseEvent("old", "go");
  await world.clock.until(world.engine.awaitWorkflowInstance("old"));
  await world.crash();
  isNew = true;
  const fork = await world.engine.forkWorkflowInstance("old", { fromTask: 1, instanceId: "new" });
  assert.deepEqual(await world.clock.until(fork.result()), ["a", "b", false]);
});

test("code that waits for a suspect job answers what needs no code, and reacts after a minute at most", async (t) => {
  const hung = defineJob("hung", () => new Promise<never>(() => undefined));
  const world = await World.start(t, { jobs: [hung], workflows: [good] });
  const task = new TaskBuilder("t").withJobFunction(hung, undefined).withTimeout(600);
  const dag = new WorkflowBuilder().withName("dag").withTask(task).build();
  await world.engine.submitWorkflow(dag, { instanceId: "d" });
  await world.engine.startWorkflow(good, undefined, { instanceId: "g" });
  for (let n = 0; n < 3; n++) {
    await world.clock.advance(5000);
    await world.crash();
  }
  await world.clock.advance(5000);
  assert.equal((await world.engine.getWorkflowInstanceStatus("d")).tasks[0]?.status, "Running", "on its last chance");
  const raised = watch(world.engine.raiseEvent("g", "next"));
  await world.clock.advance(1);
  assert.equal((await world.engine.getWorkflowInstanceStatus("g")).status, "Running");
  assert.equal(raised.state, "waiting");
  const again = world.engine.startWorkflow(good, undefined, { instanceId: "g" });
  await assert.rejects(again, { code: "INSTANCE_EXISTS" }, "at once, and without asking on and on");
  await world.clock.advance(60_000);
  assert.equal(raised.state, "done");
});

test("a suspect activity and its own code do not wait for each other", async (t) => {
  const slow = defineJob("slow", async () => {
    await new Promise<void>((resolve) => void world.clock.after(30_000, resolve));
    return "slow";
  });
  const parent = defineWorkflow("parent", async (ctx: WorkflowContext) => {
    const [said] = await Promise.all([ctx.run(slow, undefined), ctx.sleep(100)]);
    await ctx.sleep(100);
    return said;
  });
  const world = await World.start(t, { jobs: [slow], workflows: [parent] });
  await world.engine.startWorkflow(parent, undefined, { instanceId: "p" });
  for (let n = 0; n < 3; n++) {
    await world.clock.advance(5000);
    await world.crash();
  }
  await world.clock.advance(35_000);
  assert.equal((await world.engine.getWorkflowInstanceStatus("p")).status, "Success");
});

test("code that waits for a suspect job is not evicted as idle, and reacts to the result that it waits to see", async (t) => {
  const hung = defineJob("hung", () => new Promise<never>(() => undefined));
  const slow = defineJob("slow", async () => {
    await new Promise<void>((resolve) => void world.clock.after(30_000, resolve));
    return "slow";
  });
  const patient = defineWorkflow("patient", (ctx: WorkflowContext) => ctx.run(slow, undefined));
  const world = await World.start(t, { jobs: [hung, slow], workflows: [patient], idleMs: 10_000 });
  const task = new TaskBuilder("t").withJobFunction(hung, undefined).withTimeout(600);
  const dag = new WorkflowBuilder().withName("dag").withTask(task).build();
  await world.engine.submitWorkflow(dag, { instanceId: "d" });
  for (let n = 0; n < 3; n++) {
    if (n === 2) await world.engine.startWorkflow(patient, undefined, { instanceId: "p" });
    await world.clock.advance(5000);
    await world.crash();
  }
  await world.clock.advance(59_000);
  const { status, tasks } = await world.engine.getWorkflowInstanceStatus("p");
  assert.deepEqual([status, tasks[0]?.status], ["Running", "Success"], "its code has not seen the result yet");
  await world.clock.advance(10_000);
  assert.equal((await world.engine.getWorkflowInstanceStatus("p")).status, "Success");
});

test("a request for an instance that is purged between the reads of its row and of its history is refused", async (t) => {
  const world = await start(t, new Poison());
  // An instance that was at rest has its turns in rows.
  const brief = defineWorkflow("brief", async (ctx) => await ctx.sleep(1));
  await world.engine.registerWorkflow(brief);
  const run = await world.engine.startWorkflow(brief, undefined, { instanceId: "x" });
  await world.clock.advance(10);
  await run.result();
  await world.crash();
  await world.engine.registerWorkflow(brief);
  const slow = Promise.withResolvers<void>();
  world.store.afterRead = (what) => (what === "findFinished" ? slow.promise : Promise.resolve());
  const paused = watch(world.engine.pauseWorkflowInstance("x"));
  await world.clock.settle();
  const gate = world.store.hold("after");
  const purged = watch(world.engine.purgeWorkflowInstances({ status: "Success", endedBefore: world.clock.now() + 1 }));
  await gate.reached();
  slow.resolve();
  await world.clock.settle();
  assert.equal(paused.state, "waiting", "whoever looks for it reads again when the purge is over");
  gate.open();
  await world.clock.settle();
  assert.equal(purged.value, 1);
  assert.equal(paused.state, "failed");
  assert(hasCode(paused.error, "INSTANCE_UNKNOWN"), String(paused.error));
});
