/** What becomes of instances when engines stop, crash and come back, and when time passes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError, hasCode } from "../../src/base/error.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { HandJob } from "./hand-job.ts";
import { watch, World } from "./world.ts";
import { builder, chain, decision, task, workflow } from "./workflows.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe("an engine that is stopped in good order", () => {
  test("goes on where it stopped, and nothing counts as interrupted", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    (await work.call("a")).finish(1);
    const running = await work.call("b");
    await world.clock.advance(1000);
    await world.restart();
    assert.equal(running.ctx.signal.aborted, true);
    const again = await work.call("b", { after: 1 });
    assert.equal(again.ctx.attemptId, running.ctx.attemptId, "the same attempt, under the same name");
    again.finish(2);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 1, b: 2 });
    assert.deepEqual(work.started, ["a", "b", "b"]);
    assert.equal(world.disk.ledger.count("x", "TaskInterrupted"), 0);
  });

  test("may be stopped any number of times with the same task running", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    for (let life = 0; life < 6; life++) {
      await work.call("a", { after: life });
      await world.clock.advance(1000);
      await world.restart();
    }
    (await work.call("a", { after: 6 })).finish(1);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 1 });
  });

  test("keeps a result that came just before", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    call.finish("kept");
    await Promise.resolve();
    await Promise.resolve();
    await world.restart();
    const next = await work.call("b");
    assert.deepEqual(next.ctx.outputs, { a: "kept" });
    assert.deepEqual(work.started.filter((name) => name === "a").length, 1);
  });

  test("leaves no timer behind", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const flaky = builder("flaky", task("a").withRetryCount(3)).withTimeout(3600).build();
    await world.engine.submitWorkflow(flaky, { instanceId: "x" });
    const call = await work.call("a");
    call.fail(new Error("once"));
    await Promise.resolve();
    await Promise.resolve();
    await world.clock.until(world.engine.stop());
    await world.clock.advance(1000);
    assert.equal(world.clock.timerCount, 0);
  });

  test("says to those who wait that it was stopped", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const run = await world.engine.submitWorkflow(chain("one", "a"));
    const result = watch(run.result());
    await work.call("a");
    await world.clock.until(world.engine.stop());
    assert.ok(hasCode(result.error, "ENGINE_STATE"), "the result is not to be had here any more");
    await assert.rejects(run.getStatus(), (error) => hasCode(error, "ENGINE_STATE"));
  });
});

describe("an engine that is killed", () => {
  test("loses nothing that was accepted and repeats nothing that was completed", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    (await work.call("a")).finish(1);
    await work.call("b");
    await world.crash();
    (await work.call("b", { after: 1 })).finish(2);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 1, b: 2 });
    assert.deepEqual(work.started, ["a", "b", "b"]);
  });

  test("counts an attempt whose start is on record as interrupted, and the same attempt runs again", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    const first = await work.call("a");
    await world.clock.advance(1000);
    assert.equal(world.disk.ledger.count("x", "TaskStarted"), 1);
    await world.crash();
    const second = await work.call("a", { after: 1 });
    assert.equal(second.ctx.attemptId, first.ctx.attemptId);
    assert.equal(world.disk.ledger.count("x", "TaskInterrupted"), 1);
    assert.equal(world.disk.ledger.count("x", "TaskStarted"), 2, "after an interruption its start is on record first");
  });

  test("runs cautiously what may have been running: its start is durable before the job is called", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    await work.call("a");
    assert.equal(world.disk.ledger.count("x", "TaskStarted"), 0);
    world.kill();
    await world.clock.advance(hourMs);
    const seen: number[] = [];
    work.onCall = () => seen.push(world.disk.ledger.count("x", "TaskStarted"));
    await world.begin();
    await work.call("a", { after: 1 });
    assert.deepEqual(seen, [1]);
    assert.equal(world.disk.ledger.count("x", "TaskInterrupted"), 0);
    const started = world.disk.ledger.events("x").find((event) => event.type === "TaskStarted");
    assert.equal(started?.startedAt, world.clock.now(), "with the time at which it started");
  });

  test("stops a job that kills its process again and again, and spares its neighbour", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], maxInterruptions: 3 });
    await world.engine.submitWorkflow(chain("killer", "k"), { instanceId: "killer" });
    await world.engine.submitWorkflow(chain("innocent", "i"), { instanceId: "innocent" });
    await work.call("i");
    for (let crash = 0; crash < 4; crash++) {
      await work.call("k", { after: crash });
      await world.clock.advance(1000);
      if (crash === 0) (await work.call("i")).finish("done");
      await world.clock.settle();
      await world.crash();
      await world.clock.settle();
    }
    await assert.rejects(world.engine.awaitWorkflowInstance("killer"), /worker lost/);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("innocent"), { i: "done" });
    assert.equal(work.started.filter((name) => name === "k").length, 4);
    assert.equal(work.started.filter((name) => name === "i").length, 1);
  });

  test("forgets a submit that was never answered, and the id stays free", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    world.store.hold();
    const submitted = watch(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" }));
    await world.clock.settle();
    await world.crash();
    assert.equal(submitted.state, "waiting");
    await assert.rejects(world.engine.getWorkflowInstanceStatus("x"), (error) => hasCode(error, "INSTANCE_UNKNOWN"));
    await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
  });

  test("goes on with a submit that was written but not answered", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const gate = world.store.hold("after");
    watch(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" }));
    await gate.reached();
    await world.crash();
    (await work.call("a")).finish(1);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 1 });
    assert.deepEqual(work.started, ["a"]);
  });

  test("leaves a decision undecided at the wrong moment, and it is decided after the restart", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const large = "x".repeat(10_000);
    const deciding = workflow(
      "deciding",
      task("a"),
      decision("which", "size(outputs.a) > 10").withDependency("a"),
      task("yes").withDependency("which", { when: true }),
      task("no").withDependency("which", { when: false }),
    );
    await world.engine.submitWorkflow(deciding, { instanceId: "x" });
    const call = await work.call("a");
    await world.clock.advance(1000);
    world.store.beforeRead = (what) => (what === "loadPayloads" ? new Promise(() => undefined) : Promise.resolve());
    call.finish(large);
    await world.clock.settle();
    assert.equal(world.disk.ledger.count("x", "DecisionMade"), 0);
    await world.crash();
    (await work.call("yes")).finish(1);
    const outputs = await world.engine.awaitWorkflowInstance("x");
    assert.equal(outputs["yes"], 1);
  });
});

describe("a retry wait", () => {
  for (const [how, restart] of Object.entries({
    "a restart": (world: World) => world.restart(),
    "a crash": (world: World) => world.crash(),
  })) {
    test(`survives ${how}: neither early nor begun anew`, async (t) => {
      const work = new HandJob();
      const world = await World.start(t, { jobs: [work.job] });
      const flaky = workflow("flaky", task("a").withRetryCount(2).withRetryPolicy({ initialMs: 10_000 }));
      await world.engine.submitWorkflow(flaky, { instanceId: "x" });
      (await work.call("a")).fail(new Error("once"));
      await world.clock.advance(6000);
      await restart(world);
      const { tasks } = await world.engine.getWorkflowInstanceStatus("x");
      assert.equal(tasks[0]?.status, "Pending");
      await world.clock.advance(3999);
      assert.equal(work.calls.length, 1, "not early");
      await world.clock.advance(1);
      assert.equal(work.calls.length, 2, "not late");
      const again = await work.call("a", { after: 1 });
      assert.equal(again.ctx.attempt, 2);
      again.finish(1);
      assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 1 });
    });
  }

  test("that came due while nobody was there is over at the start", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const flaky = workflow("flaky", task("a").withRetryCount(1).withRetryPolicy({ initialMs: 10_000 }));
    await world.engine.submitWorkflow(flaky, { instanceId: "x" });
    (await work.call("a")).fail(new Error("once"));
    await world.clock.settle();
    world.kill();
    await world.clock.advance(hourMs);
    await world.begin();
    await world.clock.advance(0);
    assert.equal(work.calls.length, 2);
  });

  test("that comes due while paused stays until resume", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const flaky = workflow("flaky", task("a").withRetryCount(1).withRetryPolicy({ initialMs: 10_000 }));
    const run = await world.engine.submitWorkflow(flaky, { instanceId: "x" });
    (await work.call("a")).fail(new Error("once"));
    await world.clock.settle();
    await run.pause();
    await world.clock.advance(hourMs);
    await world.crash();
    await world.clock.advance(hourMs);
    assert.equal(work.calls.length, 1);
    await world.engine.resumeWorkflowInstance("x");
    await world.clock.settle();
    assert.equal(work.calls.length, 2);
  });

  test("is not lost when the store cannot be read as it comes due", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: minuteMs });
    const flaky = workflow("flaky", task("a").withRetryCount(1).withRetryPolicy({ initialMs: hourMs }));
    await world.engine.submitWorkflow(flaky, { instanceId: "x" });
    (await work.call("a")).fail(new Error("once"));
    await world.clock.advance(10 * minuteMs);
    assert.equal(world.engine.health.instancesInMemory, 0);
    world.store.readsFail = true;
    await world.clock.advance(hourMs);
    assert.equal(work.calls.length, 1);
    world.store.readsFail = false;
    await world.clock.advance(2000);
    assert.equal(work.calls.length, 2);
  });
});

test("a wake-up is not lost when the machine's clock is set back just then", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job], idleMs: minuteMs });
  const flaky = workflow("flaky", task("a").withRetryCount(1).withRetryPolicy({ initialMs: hourMs }));
  await world.engine.submitWorkflow(flaky, { instanceId: "x" });
  (await work.call("a")).fail(new Error("once"));
  await world.clock.advance(10 * minuteMs);
  world.store.beforeRead = async () => world.setClock(-5000);
  await world.clock.advance(50 * minuteMs);
  assert.equal(work.calls.length, 1, "it is not time yet, by the new clock");
  await world.clock.advance(5000);
  assert.equal(work.calls.length, 2);
});

describe("an instance's timeout", () => {
  test("keeps counting while it is paused", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const limited = builder("limited", task("a"), task("b").withDependency("a")).withTimeout(100).build();
    const run = await world.engine.submitWorkflow(limited, { instanceId: "x" });
    const result = watch(run.result());
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(60_000);
    assert.equal((await run.getStatus()).status, "Paused");
    await world.clock.advance(39_999);
    assert.equal(result.state, "waiting");
    await world.clock.advance(1);
    assert.ok(hasCode(result.error, "WORKFLOW_FAILED"));
    assert.match((await run.getStatus()).reason ?? "", /timeout of 100 s/);
  });

  test("keeps counting while the engine is away", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const limited = builder("limited", task("a").withTimeout(3600)).withTimeout(100).build();
    await world.engine.submitWorkflow(limited, { instanceId: "x" });
    await work.call("a");
    await world.clock.advance(30_000);
    await world.crash();
    const call = await work.call("a", { after: 1 });
    const result = watch(world.engine.awaitWorkflowInstance("x"));
    await world.clock.advance(69_999);
    assert.equal(result.state, "waiting");
    await world.clock.advance(1);
    assert.ok(hasCode(result.error, "WORKFLOW_FAILED"));
    assert.equal(call.ctx.signal.aborted, true);
  });
});

describe("idle instances", () => {
  test("leave memory and come back with the next message", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: 30 * minuteMs });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(29 * minuteMs);
    assert.equal(world.engine.health.instancesInMemory, 1);
    await world.clock.advance(3 * minuteMs);
    assert.equal(world.engine.health.instancesInMemory, 0);
    assert.equal(world.engine.health.unfinishedInstances, 1);
    assert.equal((await run.getStatus()).status, "Paused");
    assert.equal(world.engine.health.instancesInMemory, 1);
    await world.clock.advance(hourMs);
    assert.equal(world.engine.health.instancesInMemory, 0);
    await run.resume();
    (await work.call("b")).finish(2);
    assert.deepEqual(await run.result(), { a: 1, b: 2 });
    assert.equal(world.engine.health.unfinishedInstances, 0);
  });

  test("are awaited all the same", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: minuteMs });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const before = watch(run.result());
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(hourMs);
    const after = watch(run.result());
    assert.equal(world.engine.health.instancesInMemory, 0);
    await run.terminate("enough");
    await world.clock.settle();
    assert.ok(hasCode(before.error, "WORKFLOW_TERMINATED"));
    assert.ok(hasCode(after.error, "WORKFLOW_TERMINATED"));
  });

  test("stay while a task runs, however long", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: minuteMs });
    await world.engine.submitWorkflow(workflow("long", task("a").withTimeout(86_400)), { instanceId: "x" });
    const call = await work.call("a");
    await world.clock.advance(10 * hourMs);
    assert.equal(world.engine.health.instancesInMemory, 1);
    call.finish(1);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 1 });
  });

  test("stay while a turn of theirs is being written", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: minuteMs });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(30_000);
    const gate = world.store.hold();
    const updated = world.engine.updateContext("x", { colour: "red" });
    await gate.reached();
    await world.clock.advance(hourMs);
    assert.equal(world.engine.health.instancesInMemory, 1);
    gate.open();
    await updated;
    await run.resume();
    (await work.call("b")).finish(2);
    assert.deepEqual(await run.result(), { a: 1, b: 2 });
    assert.deepEqual(work.calls.at(-1)?.context, { colour: "red" });
  });

  test("that are asked many things at once are loaded once", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], idleMs: minuteMs });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(hourMs);
    const reads: string[] = [];
    world.store.beforeRead = async (what) => void reads.push(what);
    const answers = await Promise.all([run.getStatus(), run.resume(), run.getStatus(), run.pause(), run.getStatus()]);
    assert.deepEqual(
      reads.filter((what) => what === "loadHistory"),
      ["loadHistory"],
    );
    assert.deepEqual(
      [answers[0], answers[2], answers[4]].map((view) => view.status),
      ["Paused", "Running", "Running"],
      "in order of arrival",
    );
    assert.equal(answers[4].pausing, true);
  });
});

describe("an instance that makes no progress", () => {
  test("is reported once, and no longer when it moves", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], stuckMs: hourMs });
    await world.engine.submitWorkflow(workflow("long", task("a").withTimeout(86_400), task("b").withDependency("a")), {
      instanceId: "x",
    });
    const call = await work.call("a");
    await world.clock.advance(59 * minuteMs);
    assert.deepEqual(world.engine.health.stuckInstances, []);
    await world.clock.advance(10 * minuteMs);
    assert.deepEqual(world.engine.health.stuckInstances, ["x"]);
    const [stuck, ...others] = world.engine.listStuckInstances();
    assert.deepEqual([stuck?.instanceId, stuck?.workflowName, others], ["x", "long", []]);
    assert.deepEqual(world.engine.listStuckInstances({ forMs: 2 * hourMs }), []);
    const warnings = world.log.lines.filter(({ message }) => message.includes("no progress"));
    assert.deepEqual(
      warnings.map(({ fields }) => fields["instanceId"]),
      ["x"],
    );
    call.finish(1);
    const next = await work.call("b");
    assert.deepEqual(world.engine.health.stuckInstances, []);
    next.finish(2);
    await world.engine.awaitWorkflowInstance("x");
    await world.clock.advance(3 * hourMs);
    assert.deepEqual(world.engine.health.stuckInstances, []);
  });

  test("because somebody paused it is not stuck", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job], stuckMs: hourMs });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"));
    const call = await work.call("a");
    await run.pause();
    call.finish(1);
    await world.clock.advance(5 * hourMs);
    assert.deepEqual(world.engine.health.stuckInstances, []);
  });
});

describe("an instance that cannot be brought back", () => {
  test("because its history is broken, is quarantined at the start, and its neighbours run", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    for (const id of ["x", "y"]) {
      await world.engine.submitWorkflow(chain("one", "a"), { instanceId: id, params: { note: "x".repeat(3000) } });
    }
    await world.clock.advance(1000);
    const key = world.disk.ledger.key("x");
    world.kill();
    await world.begin((store) => {
      store.tamper = (row) => (row.instance === key && row.turn === 1 ? { ...row, turn: 2 } : row);
    });
    (await work.call("a", { instanceId: "y", after: 1 })).finish(1);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("y"), { a: 1 });
    assert.equal(world.engine.health.quarantinedInstances, 1);
    await assert.rejects(world.engine.awaitWorkflowInstance("x"), (error) => hasCode(error, "INSTANCE_QUARANTINED"));
    await assert.rejects(world.engine.resumeWorkflowInstance("x"), (error) => hasCode(error, "INSTANCE_QUARANTINED"));
    assert.equal(world.engine.health.quarantinedInstances, 1, "it is still broken");
    world.store.tamper = undefined;
    await world.engine.resumeWorkflowInstance("x");
    (await work.call("a", { instanceId: "x", after: 1 })).finish(2);
    assert.deepEqual(await world.engine.awaitWorkflowInstance("x"), { a: 2 });
  });

  test("because its definition is not to be had, is quarantined at the start, and its neighbours run", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("lost", "a"), { instanceId: "x" });
    await world.engine.submitWorkflow(chain("kept", "a", "b"), { instanceId: "y" });
    await world.clock.settle();
    world.kill();
    let reads = 0;
    await world.begin((store) => {
      store.beforeRead = async (what) => {
        if (what === "findDefinition" && ++reads === 1) throw new EngineError("WORKFLOW_UNKNOWN", "it is gone");
      };
    });
    await work.call("a", { instanceId: "y", after: 1 });
    assert.equal(world.engine.health.quarantinedInstances, 1);
    await world.engine.resumeWorkflowInstance("x");
    await work.call("a", { instanceId: "x", after: 1 });
  });
});

describe("a start that is refused", () => {
  test("answers all who asked about it meanwhile, and leaves nothing in memory", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const params = { big: "x".repeat(10_485_760) };
    const submitted = watch(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x", params }));
    const asked = [];
    for (let tick = 0; tick < 20; tick++) {
      asked.push(watch(world.engine.awaitWorkflowInstance("x")), watch(world.engine.getWorkflowInstanceStatus("x")));
      await Promise.resolve();
    }
    await world.clock.settle();
    assert.ok(hasCode(submitted.error, "CONTEXT_TOO_LARGE"));
    for (const { error } of asked) assert.ok(hasCode(error, "INSTANCE_UNKNOWN"));
    assert.equal(world.engine.health.unfinishedInstances, 0);
  });
});

describe("ids", () => {
  test("an active one is refused, a finished one too unless it is to be used again", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const { engine } = world;
    const submit = (reuse?: boolean): Promise<unknown> =>
      engine.submitWorkflow(chain("one", "a"), { instanceId: "x", ...(reuse !== undefined && { reuse }) });
    await submit();
    const first = await work.call("a");
    await assert.rejects(submit(true), (error) => hasCode(error, "INSTANCE_EXISTS"));
    first.finish(1);
    await engine.awaitWorkflowInstance("x");
    await assert.rejects(submit(), (error) => hasCode(error, "INSTANCE_EXISTS"));
    await submit(true);
    const second = await work.call("a", { after: 1 });
    assert.equal((await engine.getWorkflowInstanceStatus("x")).generation, 2);
    assert.notEqual(second.ctx.attemptId, first.ctx.attemptId);
    second.finish(2);
    assert.deepEqual(await engine.awaitWorkflowInstance("x"), { a: 2 });
    assert.equal((await engine.listWorkflowInstances({ idPrefix: "x" })).length, 2, "each life keeps its own record");
  });

  test("of two starts at once, one is refused", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const submits = await Promise.allSettled(
      [1, 2, 3].map(() => world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" })),
    );
    assert.deepEqual(submits.map(({ status }) => status).toSorted(), ["fulfilled", "rejected", "rejected"]);
    await world.clock.settle();
    assert.equal(work.calls.length, 1);
  });

  test("used again while the end of the first life is being written, it is the next life", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const run = await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    const result = watch(run.result());
    const call = await work.call("a");
    const gate = world.store.hold();
    call.finish(1);
    await gate.reached();
    const again = watch(world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x", reuse: true }));
    await world.clock.settle();
    gate.open();
    await world.clock.settle();
    assert.deepEqual(result.value, { a: 1 }, "whoever waited for the first is not forgotten");
    assert.equal(again.state, "done");
    assert.equal((await world.engine.getWorkflowInstanceStatus("x")).generation, 2);
  });

  test("a report of an earlier life or generation is dropped and counted", async (t) => {
    const work = new HandJob();
    const deaf = defineJob("deaf", () => new Promise<unknown>((resolve) => void late.push(resolve)));
    const late: ((value: unknown) => void)[] = [];
    const world = await World.start(t, { jobs: [work.job, deaf] });
    const run = await world.engine.submitWorkflow(workflow("one", task("a", "deaf")), { instanceId: "x" });
    await world.clock.settle();
    await run.terminate("enough");
    await world.engine.retryWorkflowInstance("x");
    await world.clock.settle();
    assert.equal(late.length, 2);
    late[0]?.("from the dead");
    await world.clock.settle();
    assert.equal((await run.getStatus()).status, "Running");
    assert.equal(world.engine.health.droppedReports, 1);
    late[1]?.("alive");
    assert.deepEqual(await run.result(), { a: "alive" });
  });
});

describe("questions", () => {
  test("to one instance are answered while another one's commit is outstanding, in order and after it", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const run = await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await world.clock.advance(1000);
    const gate = world.store.hold();
    call.finish(1);
    await gate.reached();
    const order: string[] = [];
    const asked = [
      run.getStatus().then(({ tasks }) => order.push(`a is ${tasks[0]?.status}`)),
      run.pause().then(() => order.push("paused")),
      run.getStatus().then(({ pausing }) => order.push(`pausing: ${pausing}`)),
    ];
    await world.clock.settle();
    assert.deepEqual(order, []);
    gate.open();
    await Promise.all(asked);
    // An order is acknowledged a moment later than a question is answered; what they say is in order.
    assert.equal(order[0], "a is Success");
    assert.deepEqual(new Set(order), new Set(["a is Success", "paused", "pausing: true"]));
  });

  test("that throw are answered with the error and change nothing", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("one", "a"), { instanceId: "x" });
    await work.call("a");
    await assert.rejects(world.engine.updateTaskParams("x", "nobody", 1), (error) => hasCode(error, "TASK_UNKNOWN"));
    await assert.rejects(world.engine.getWorkflowInstanceStatus("y"), (error) => hasCode(error, "INSTANCE_UNKNOWN"));
    assert.equal(world.engine.health.unfinishedInstances, 1);
  });

  test("about an ended instance leave nothing in memory", async (t) => {
    const done = defineJob("done", () => 1);
    const world = await World.start(t, { jobs: [done] });
    const run = await world.engine.submitWorkflow(workflow("one", task("a", "done")), { instanceId: "x" });
    await run.result();
    await Promise.all([run.getStatus(), run.result(), world.engine.getWorkflowInstanceBreakpoint("x")]);
    await assert.rejects(run.pause(), (error) => hasCode(error, "INSTANCE_STATE"));
    await assert.rejects(world.engine.skipTask("x", "nobody"), (error) => hasCode(error, "TASK_UNKNOWN"));
    assert.equal(world.engine.health.instancesInMemory, 0);
    assert.equal(world.engine.health.unfinishedInstances, 0);
  });
});
