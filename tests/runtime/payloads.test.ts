/** Large values: they travel by reference, arrive whole, and what is too large is refused with nothing changed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { memoryStore } from "../../src/testing.ts";
import { HandJob } from "./hand-job.ts";
import { World } from "./world.ts";
import { chain, decision, nested, task, workflow } from "./workflows.ts";

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;
const contextMax = 10_485_760;

function messages(bytes: number): string {
  return "x".repeat(bytes);
}

/** The length of every history row of an instance. */
async function rowSizes(world: World, id: string): Promise<number[]> {
  const rows = await world.disk.inner.loadHistory([world.disk.ledger.key(id)]);
  return rows.map(({ events }) => events.length);
}

for (const [name, inner] of Object.entries({
  "the memory store": memoryStore,
  SQLite: (): Store => new SqliteStore({ file: ":memory:" }),
})) {
  test(`an output of 5 MB goes through ${name} to the next task, to the result and over a restart`, async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { inner: inner(), jobs: [work.job] });
    await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const large = messages(5 * megabyte);
    (await work.call("a")).finish(large);
    const before = await work.call("b");
    assert.equal(before.ctx.outputs["a"], large);
    await world.crash();
    const call = await work.call("b", { after: 1 });
    assert.equal(call.ctx.outputs["a"], large);
    call.finish(large);
    const result = await world.engine.awaitWorkflowInstance("x");
    assert.equal(result["a"], large);
    assert.equal(result["b"], large);
    for (const size of await rowSizes(world, "x")) assert.ok(size < kilobyte, `a history row of ${size} characters`);
  });
}

describe("values by reference", () => {
  test("begin above 4 KB, in output, start context, context patch and update", async (t) => {
    const work = new HandJob();
    const patch = defineJob("patch", (_: unknown, ctx) => {
      ctx.patchContext({ patched: messages(5 * kilobyte), small: 1 });
      return messages(4094);
    });
    const world = await World.start(t, { jobs: [work.job, patch] });
    const two = workflow("two", task("a", "patch"), task("b").withDependency("a"));
    await world.engine.submitWorkflow(two, { instanceId: "x", params: { started: messages(5 * kilobyte) } });
    await work.call("b");
    await world.engine.updateContext("x", { updated: messages(5 * kilobyte) });
    const sizes = await rowSizes(world, "x");
    assert.ok(sizes.filter((size) => size > 4 * kilobyte).length === 1, "4,096 bytes stay inline, 5 KB do not");
    const { context } = await world.engine.getWorkflowInstanceBreakpoint("x");
    assert.deepEqual(Object.keys(context).toSorted(), ["patched", "small", "started", "updated"]);
    for (const key of ["patched", "started", "updated"]) assert.equal(context[key], messages(5 * kilobyte));
    await world.restart();
    const again = await work.call("b", { after: 1 });
    assert.equal(again.context["updated"], messages(5 * kilobyte));
  });

  test("a decision sees them in the very turn that brings them", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const deciding = workflow(
      "deciding",
      decision("first", 'context.big.startsWith("xx")'),
      task("a").withDependency("first", { when: true }),
      task("never").withDependency("first", { when: false }),
      decision("second", "size(outputs.a)").withDependency("a"),
      task("b").withDependency("second", { when: "6000" }),
      task("nor").withDependency("second", { when: "default" }),
    );
    const run = await world.engine.submitWorkflow(deciding, {
      instanceId: "x",
      params: { big: messages(5 * kilobyte) },
    });
    (await work.call("a")).finish(messages(6000));
    (await work.call("b")).finish(1);
    await run.result();
    assert.deepEqual(work.started, ["a", "b"]);
    assert.equal(world.engine.health.quarantinedInstances, 0);
  });

  test("a child gets them from its parent, and gives them back", async (t) => {
    const work = new HandJob();
    const patch = defineJob("patch", (_: unknown, ctx) => {
      ctx.patchContext({ back: messages(6000), there: null });
      return { seen: (ctx.context["there"] as string).length, output: messages(7000) };
    });
    const world = await World.start(t, { jobs: [work.job, patch] });
    const outer = workflow("outer", nested("n", workflow("inner", task("p", "patch"))), task("b").withDependency("n"));
    await world.engine.submitWorkflow(outer, { instanceId: "x", params: { there: messages(5000) } });
    const call = await work.call("b");
    assert.deepEqual(call.context, { back: messages(6000) });
    assert.deepEqual(call.ctx.outputs, { n: { p: { seen: 5000, output: messages(7000) } } });
  });

  test("a child whose outputs together are too large fails its parent's task", async (t) => {
    const big = defineJob("big", () => messages(6 * megabyte));
    const world = await World.start(t, { jobs: [big] });
    const inner = workflow("inner", task("a", "big"), task("b", "big"));
    const run = await world.engine.submitWorkflow(workflow("outer", nested("n", inner)), { instanceId: "x" });
    await assert.rejects(run.result(), /outputs of its tasks together take more than 10485760 bytes/);
  });

  test("a job waits for a store that is away, and does not fail", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x" });
    const call = await work.call("a");
    await world.clock.advance(1000);
    world.store.readsFail = true;
    call.finish(messages(5000));
    await world.clock.advance(10_000);
    assert.deepEqual(work.started, ["a"]);
    world.store.readsFail = false;
    await world.clock.advance(1000);
    assert.equal((await work.call("b")).ctx.outputs["a"], messages(5000));
  });
});

describe("the context's limit", () => {
  test("is exact, and holds for the start, a patch and an update", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const { engine } = world;
    const room = contextMax - '{"big":""}'.length;
    const tooLarge = engine.submitWorkflow(chain("one", "a"), {
      instanceId: "no",
      params: { big: messages(room + 1) },
    });
    await assert.rejects(tooLarge, (error) => hasCode(error, "CONTEXT_TOO_LARGE"));
    await assert.rejects(engine.getWorkflowInstanceStatus("no"), (error) => hasCode(error, "INSTANCE_UNKNOWN"));
    assert.equal(engine.health.unfinishedInstances, 0);

    await engine.submitWorkflow(chain("one", "a"), { instanceId: "x", params: { big: messages(room) } });
    const call = await work.call("a");
    assert.equal((call.context["big"] as string).length, room);
    await assert.rejects(engine.updateContext("x", { more: 1 }), (error) => hasCode(error, "CONTEXT_TOO_LARGE"));
    const { context } = await engine.getWorkflowInstanceBreakpoint("x");
    assert.deepEqual(Object.keys(context), ["big"], "the earlier context is intact");
    await engine.updateContext("x", { big: null, more: messages(megabyte) });
    assert.deepEqual(Object.keys((await engine.getWorkflowInstanceBreakpoint("x")).context), ["more"]);
  });

  test("fails the task whose patch passes it, and leaves the earlier context", async (t) => {
    const greedy = defineJob("greedy", (_: unknown, ctx) => ctx.patchContext({ b: messages(6 * megabyte), c: 1 }));
    const world = await World.start(t, { jobs: [greedy] });
    const one = workflow("one", task("a", "greedy").withRetryCount(3));
    const run = await world.engine.submitWorkflow(one, { instanceId: "x", params: { big: messages(6 * megabyte) } });
    await assert.rejects(run.result(), /CONTEXT_TOO_LARGE|the context with this task's patch/);
    const view = await run.getStatus();
    assert.equal(view.tasks[0]?.failure?.type, "CONTEXT_TOO_LARGE");
    const { context } = await world.engine.getWorkflowInstanceBreakpoint("x");
    assert.deepEqual(Object.keys(context), ["big"]);
  });

  test("counts bytes, not characters", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    const euros = "€".repeat(4 * megabyte);
    const submitted = world.engine.submitWorkflow(chain("one", "a"), { params: { euros } });
    await assert.rejects(submitted, (error) => hasCode(error, "CONTEXT_TOO_LARGE"));
  });
});

test("an output above the limit fails the task", async (t) => {
  const big = defineJob("big", () => messages(contextMax));
  const world = await World.start(t, { jobs: [big] });
  const run = await world.engine.submitWorkflow(workflow("one", task("a", "big")), { instanceId: "x" });
  await assert.rejects(run.result(), /output of task "a" has 10485762 bytes/);
});

describe("values that would not fit together", () => {
  const count = 70;
  const big = defineJob("big", () => messages(megabyte));
  const wide = Array.from({ length: count }, (_, n) => task(`t${n}`, "big"));
  const names = wide.map((_, n) => `t${n}`);

  /** From here on nothing large is read. */
  function readsNothing(world: World): Store["loadPayloads"] {
    const { loadPayloads } = world.store;
    world.store.loadPayloads = () => assert.fail("a large value was read");
    return loadPayloads;
  }

  test("are refused as a result by their sizes, before anything is read, and can be read one by one", async (t) => {
    const world = await World.start(t, { jobs: [big] });
    const run = await world.engine.submitWorkflow(workflow("wide", ...wide), { instanceId: "x" });
    const read = readsNothing(world);
    const tooLarge = /the 70 outputs of instance "x" take 73400460 bytes together; .*67108864.*getTaskOutput/;
    await assert.rejects(run.result(), (error) => hasCode(error, "RESULT_TOO_LARGE") && tooLarge.test(error.message));
    world.store.loadPayloads = read;
    assert.equal(await world.engine.getTaskOutput("x", "t7"), messages(megabyte));
    await assert.rejects(world.engine.getTaskOutput("x", "t70"), (error) => hasCode(error, "TASK_UNKNOWN"));
    await assert.rejects(world.engine.getTaskOutput("x", "constructor"), (error) => hasCode(error, "TASK_UNKNOWN"));
  });

  test("fail the job and the decision that would be given them, once and clearly", async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [big, work.job] });
    const read = readsNothing(world);
    for (const [instanceId, last] of Object.entries({
      j: task("last").withRetryCount(3),
      d: decision("last", "size(outputs.t1) > 1"),
    })) {
      const joined = workflow("joined", ...wide, last.withDependencies(names));
      const run = await world.engine.submitWorkflow(joined, { instanceId });
      const read = readsNothing(world);
      await assert.rejects(run.result(), /task "last" would be given take \d+ bytes together/);
      world.store.loadPayloads = read;
      const failed = (await run.getStatus()).tasks.find(({ name }) => name === "last");
      assert.deepEqual([failed?.failure?.type, failed?.attempt], ["INPUTS_TOO_LARGE", 1]);
    }
    world.store.loadPayloads = read;
    assert.deepEqual(work.started, []);
    assert.equal(world.engine.health.quarantinedInstances, 0);
  });

  test("fail the task whose nested workflow would give them", async (t) => {
    const world = await World.start(t, { jobs: [big] });
    const outer = workflow("outer", nested("n", workflow("inner", ...wide)));
    const run = await world.engine.submitWorkflow(outer, { instanceId: "x" });
    const read = readsNothing(world);
    await assert.rejects(run.result(), /outputs of its tasks together take more than 10485760 bytes/);
    world.store.loadPayloads = read;
  });
});

test("text of every kind comes back as it went", async (t) => {
  const odd = { nul: "\u0000", lone: "\ud800", emoji: "🧵", quote: '"\\', keys: { z: 1, a: 2 }, list: [null, 1.5, -0] };
  const work = new HandJob();
  const world = await World.start(t, { inner: new SqliteStore({ file: ":memory:" }), jobs: [work.job] });
  await world.engine.submitWorkflow(chain("two", "a", "b"), { instanceId: "x", params: odd });
  (await work.call("a")).finish(odd);
  await work.call("b");
  await world.crash();
  const call = await work.call("b", { after: 1 });
  const expected: unknown = JSON.parse(JSON.stringify(odd));
  assert.deepEqual(call.ctx.outputs["a"], expected);
  assert.deepEqual(call.context, expected);
});
