/** Spec §10.4: a map runs one job for each item of a list. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import {
  defineJob,
  defineWorkflow,
  type Engine,
  type MapItem,
  TaskBuilder,
  type WorkflowController,
} from "../../src/index.ts";
import { replayWorkflow } from "../../src/testing.ts";
import { sqlite } from "../../src/sqlite.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { itemIn } from "./thread-jobs.ts";
import { Gate, newEngine, says, startEngine, statuses, task, taskOf, untilInstance, workflow } from "./rig.ts";

const double = defineJob("double", (_: unknown, ctx) => Number(ctx.item) * 2);
const list = defineJob("list", (length: number) => Array.from({ length }, (_, index) => index));

/** Fails for the items that the test says, and counts its calls by item. */
function fragile(): { job: ReturnType<typeof defineJob>; broken: Set<number>; calls: Map<number, number> } {
  const broken = new Set<number>();
  const calls = new Map<number, number>();
  const job = defineJob("fragile", (item: number) => {
    calls.set(item, (calls.get(item) ?? 0) + 1);
    if (broken.has(item)) throw new Error(`item ${item} is broken`);
    return `done ${item}`;
  });
  return { job, broken, calls };
}

async function allItems(engine: Engine, instanceId: string, limit = 7): Promise<MapItem[]> {
  const items: MapItem[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const page = await engine.listMapItems(instanceId, "m", { from, limit });
    items.push(...page.items);
    from = page.next;
  }
  return items;
}

async function failedOf(run: WorkflowController): Promise<number> {
  return ((await run.result())["m"] as { failed: number }).failed;
}

describe("10.4 a map", () => {
  test("10.4 runs its job for each item of a list, and gives counts and small results in order", async (t) => {
    const engine = await startEngine(t, { jobs: [double] });
    const run = await engine.submitWorkflow(workflow("w", task("m", "double").withMap([3, 1, 2])));
    assert.deepEqual(await run.result(), { m: { total: 3, succeeded: 3, failed: 0, results: [6, 2, 4] } });
    const items = await allItems(engine, run.instanceId);
    assert.deepEqual(
      items.map(({ index, item, status, attempt, output }) => [index, item, status, attempt, output]),
      [
        [0, 3, "Success", 1, 6],
        [1, 1, "Success", 1, 2],
        [2, 2, "Success", 1, 4],
      ],
    );
    assert.ok(items.every(({ startedAt, endedAt, worker }) => startedAt && endedAt && worker));
  });

  test("10.4 takes its items from an expression over context and outputs, also where they are large", async (t) => {
    const engine = await startEngine(t, { jobs: [double, list] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("l", "list", 3000),
        task("m", "double").withMap("outputs.l", { concurrency: 100 }).withDependency("l"),
        task("n", "double").withMap("context.few.filter(x, x > 1)"),
      ),
      { params: { few: [1, 2, 3] } },
    );
    const result = await run.result();
    assert.deepEqual(result["n"], { total: 2, succeeded: 2, failed: 0, results: [4, 6] });
    const { results, ...summary } = result["m"] as Record<string, unknown>;
    assert.deepEqual(summary, { total: 3000, succeeded: 3000, failed: 0 });
    assert.equal(results, undefined);
    const items = await allItems(engine, run.instanceId, 1000);
    assert.deepEqual(
      items.map(({ output }) => output),
      Array.from({ length: 3000 }, (_, index) => index * 2),
    );
  });

  test("10.4 an empty list succeeds at once; what is no list fails", async (t) => {
    const engine = await startEngine(t, { jobs: [double] });
    const empty = await engine.submitWorkflow(workflow("w", task("m", "double").withMap([])));
    assert.deepEqual(await empty.result(), { m: { total: 0, succeeded: 0, failed: 0, results: [] } });
    const wrong = await engine.submitWorkflow(workflow("w2", task("m", "double").withMap("context.x")), {
      params: { x: 5 },
    });
    await assert.rejects(wrong.result(), says("WORKFLOW_FAILED", "must be a list"));
  });

  test("10.4 keeps its concurrency, beside the limit of the instance", async (t) => {
    let running = 0;
    let most = 0;
    const gate = new Gate();
    const job = defineJob("slow", async () => {
      most = Math.max(most, ++running);
      await gate.opened;
      running--;
    });
    const engine = await startEngine(t, { jobs: [job] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("m", "slow").withMap(
          Array.from({ length: 50 }, (_, i) => i),
          { concurrency: 7 },
        ),
      ),
    );
    const view = await untilInstance(engine, run.instanceId, () => running === 7);
    assert.deepEqual(taskOf(view, "m").items, {
      total: 50,
      waiting: 43,
      running: 7,
      succeeded: 0,
      failed: 0,
      canceled: 0,
    });
    gate.open();
    await run.result();
    assert.equal(most, 7);
  });

  test("10.4 fails after all items ran; a retry of the instance runs only those that failed", async (t) => {
    const work = fragile();
    work.broken.add(2).add(4);
    const engine = await startEngine(t, { jobs: [work.job] });
    const run = await engine.submitWorkflow(workflow("w", task("m", "fragile").withMap([0, 1, 2, 3, 4, 5])));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "2 of 6 items failed; item 2: item 2 is broken"));
    const { items, counts } = await engine.listMapItems(run.instanceId, "m", { status: "Failed" });
    assert.deepEqual(
      items.map(({ index, failure }) => [index, failure?.message]),
      [
        [2, "item 2 is broken"],
        [4, "item 4 is broken"],
      ],
    );
    assert.deepEqual([counts.succeeded, counts.failed], [4, 2]);
    work.broken.clear();
    await engine.retryWorkflowInstance(run.instanceId);
    assert.deepEqual(await run.result(), {
      m: { total: 6, succeeded: 6, failed: 0, results: [0, 1, 2, 3, 4, 5].map((item) => `done ${item}`) },
    });
    assert.deepEqual([...work.calls.values()], [1, 1, 2, 1, 2, 1]);
    assert.equal((await allItems(engine, run.instanceId))[2]?.attempt, 2);
  });

  test("10.4 fails fast, or tolerates a number or a share of failures", async (t) => {
    const work = fragile();
    for (let item = 0; item < 100; item++) if (item % 10 === 5) work.broken.add(item);
    const engine = await startEngine(t, { jobs: [work.job] });
    const items = Array.from({ length: 100 }, (_, index) => index);
    const map = (name: string, options: object) =>
      engine.submitWorkflow(workflow(name, task("m", "fragile").withMap(items, { concurrency: 1, ...options })));
    assert.equal(await failedOf(await map("a", { tolerateFailures: 10 })), 10);
    assert.equal(await failedOf(await map("b", { tolerateFailures: "10%" })), 10);
    await assert.rejects((await map("c", { tolerateFailures: "9%" })).result(), says("WORKFLOW_FAILED", "10 of 100"));
    work.calls.clear();
    const fast = await map("d", { failFast: true, tolerateFailures: 1 });
    await assert.rejects(fast.result(), says("WORKFLOW_FAILED", "2 of 100"));
    assert.equal(work.calls.size, 16);
    const { counts } = await engine.listMapItems(fast.instanceId, "m");
    assert.deepEqual(counts, { total: 100, waiting: 0, running: 0, succeeded: 14, failed: 2, canceled: 84 });
    work.broken.clear();
    await engine.retryWorkflowInstance(fast.instanceId);
    assert.equal(await failedOf(fast), 0);
  });

  test("10.4 retries and timeouts count for each item", async (t) => {
    const calls = new Map<number, number>();
    const job = defineJob("flaky", async (item: number, ctx) => {
      const call = (calls.get(item) ?? 0) + 1;
      calls.set(item, call);
      if (item === 1 && call < 3) throw new Error("again");
      if (item === 2 && call === 1) await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      return call;
    });
    const engine = await startEngine(t, { jobs: [job] });
    const run = await engine.submitWorkflow(
      workflow("w", task("m", "flaky").withMap([0, 1, 2]).withRetryCount(2).withTimeout(0.2)),
    );
    assert.deepEqual(await run.result(), { m: { total: 3, succeeded: 3, failed: 0, results: [1, 3, 2] } });
  });

  test("10.4 pause, resume, stop and terminate reach all items", async (t) => {
    let gate = new Gate();
    let started = 0;
    let aborts = 0;
    const job = defineJob("held", async (_: unknown, ctx) => {
      started++;
      ctx.signal.addEventListener("abort", () => aborts++);
      await Promise.race([gate.opened, new Promise((resolve) => ctx.signal.addEventListener("abort", resolve))]);
      if (ctx.signal.aborted) throw new Error("aborted");
    });
    const engine = await startEngine(t, { jobs: [job], poolSize: 3 });
    const items = Array.from({ length: 20 }, (_, index) => index);
    const map = () => task("m", "held").withMap(items, { concurrency: 6 });
    const paused = await engine.submitWorkflow(workflow("w", map()));
    await until(() => started === 3);
    await engine.pauseWorkflowInstance(paused.instanceId);
    gate.open();
    await untilInstance(engine, paused.instanceId, (view) => view.status === "Paused");
    assert.equal(started, 3);
    await engine.resumeWorkflowInstance(paused.instanceId);
    await paused.result();
    assert.equal(started, 20);

    gate = new Gate();
    started = 0;
    const stopped = await engine.submitWorkflow(workflow("w", map().withSkipWhenFailed(true)));
    await until(() => started === 3);
    await engine.stopTask(stopped.instanceId, "m");
    await stopped.result();
    assert.deepEqual(await statuses(stopped), { m: "Stopped" });
    await until(() => aborts === 3);
    assert.equal(started, 3);
    assert.deepEqual((await engine.listMapItems(stopped.instanceId, "m")).counts, {
      total: 20,
      waiting: 0,
      running: 0,
      succeeded: 0,
      failed: 0,
      canceled: 20,
    });

    const terminated = await engine.submitWorkflow(workflow("w", map()));
    await until(() => started === 6);
    await engine.terminateWorkflowInstance(terminated.instanceId);
    await until(() => aborts === 6);
    assert.equal(started, 6);
  });

  test("10.4 a re-run lists the items anew, and successors see the summary", async (t) => {
    const engine = await startEngine(t, {
      jobs: [double, defineJob("sum", (_: unknown, ctx) => (ctx.outputs["m"] as { results: number[] }).results.length)],
    });
    const run = await engine.submitWorkflow(
      workflow("w", task("m", "double").withMap("context.items"), task("s", "sum").withDependency("m")),
      { params: { items: [1, 2] } },
    );
    assert.equal((await run.result())["s"], 2);
    await engine.rerunWorkflowInstance(run.instanceId, "m");
    assert.deepEqual((await run.result())["m"], { total: 2, succeeded: 2, failed: 0, results: [2, 4] });
  });

  test("10.4 the items of an ended map are read from memory until it is retried or purged", async (t) => {
    const work = fragile();
    work.broken.add(7);
    const engine = await startEngine(t, { jobs: [work.job] });
    const items = Array.from({ length: 1200 }, (_, index) => index);
    const run = await engine.submitWorkflow(workflow("w", task("m", "fragile").withMap(items, { concurrency: 100 })), {
      instanceId: "i",
    });
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "1 of 1200"));
    for (let time = 0; time < 2; time++)
      assert.equal((await engine.listMapItems("i", "m", { status: "Failed" })).items[0]?.index, 7);
    work.broken.clear();
    await engine.retryWorkflowInstance("i");
    await run.result();
    assert.equal((await engine.listMapItems("i", "m", { status: "Failed" })).items.length, 0);
    assert.equal((await engine.listMapItems("i", "m", { from: 7, limit: 1 })).items[0]?.attempt, 2);
    await engine.purgeWorkflowInstances({ instanceId: "i" });
    await assert.rejects(engine.listMapItems("i", "m"), says("INSTANCE_UNKNOWN", "i"));
  });

  test("10.4 goes on after a restart with the items that had not ended", async (t) => {
    const path = temporaryFile(t);
    const gate = new Gate();
    const calls = new Map<number, number>();
    const job = defineJob("work", async (item: number) => {
      calls.set(item, (calls.get(item) ?? 0) + 1);
      if (item >= 40) await gate.opened;
      return { item, text: "x".repeat(50) };
    });
    const first = newEngine({ storage: sqlite(path), jobs: [job] });
    await first.start();
    const items = Array.from({ length: 100 }, (_, index) => index);
    const { instanceId } = await first.submitWorkflow(
      workflow("w", task("m", "work").withMap(items, { concurrency: 10 })),
    );
    await until(() => calls.size === 50);
    await first.stop();
    gate.open();
    const second = await startEngine(t, { storage: sqlite(path), jobs: [job] });
    await second.awaitWorkflowInstance(instanceId);
    for (let item = 0; item < 40; item++) assert.equal(calls.get(item), 1);
    assert.deepEqual(
      (await allItems(second, instanceId, 33)).map(({ output }) => (output as { item: number }).item),
      items,
    );
  });

  test("10.4 code maps a job over items, in order and within its concurrency, and takes the same steps again", async (t) => {
    let running = 0;
    let most = 0;
    const job = defineJob("square", async (item: number) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 3 * ((item * 7) % 5)));
      running--;
      if (item === 99) throw new Error("no such item");
      return item * item;
    });
    const squares = defineWorkflow("squares", async (ctx, items: number[]) => ctx.map(job, items, { concurrency: 3 }));
    const engine = await startEngine(t, { jobs: [job], workflows: [squares] });
    const items = Array.from({ length: 20 }, (_, index) => index);
    const run = await engine.startWorkflow(squares, items, { instanceId: "s" });
    assert.deepEqual(
      await run.result(),
      items.map((item) => item * item),
    );
    assert.equal(most, 3);
    await replayWorkflow(squares, await engine.exportWorkflowInstanceHistory("s"));
    const broken = await engine.startWorkflow(squares, [1, 99, 2, 3, 4, 5, 6, 7, 8]);
    await assert.rejects(broken.result(), says("WORKFLOW_FAILED", "no such item"));
    const { tasks } = await engine.getWorkflowInstanceStatus(broken.instanceId);
    assert.ok(tasks.length < 9, "no further item starts after a failure");
  });

  test("10.4 items reach jobs in threads", async (t) => {
    const engine = await startEngine(t, { jobs: [itemIn] });
    const run = await engine.submitWorkflow(workflow("w", task("m", "itemIn", "p").withMap([{ a: 1 }, null])));
    assert.deepEqual(await run.result(), {
      m: {
        total: 2,
        succeeded: 2,
        failed: 0,
        results: [
          ["p", { a: 1 }, 0],
          ["p", null, 1],
        ],
      },
    });
  });

  test("10.4 a map takes a job whose params are its items, and the compiler checks them", async (t) => {
    const load = defineJob("load", { input: z.object({ file: z.string() }) }, ({ file }) => `${file} is loaded`);
    const engine = await startEngine(t, { jobs: [load] });
    const given = workflow("given", new TaskBuilder("m").withMap(load, [{ file: "a" }], { concurrency: 2 }));
    const loaded = { m: { total: 1, succeeded: 1, failed: 0, results: ["a is loaded"] } };
    assert.deepEqual(await (await engine.submitWorkflow(given)).result(), loaded);
    const expression = workflow("expression", new TaskBuilder("m").withMap(load, "context.files").withRetryCount(1));
    const run = await engine.submitWorkflow(expression, { params: { files: [{ file: 1 }] } });
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "params do not fit job"));
    // @ts-expect-error a file is a text
    assert.ok(new TaskBuilder("m").withMap(load, [{ file: 1 }]).build());
  });

  test("10.4 an item cannot generate sub-tasks, and options are checked", async (t) => {
    const job = defineJob("parent", (_: unknown, ctx) =>
      ctx.generateSubTask(new TaskBuilder("s").withJobFunction("double", 1).build()),
    );
    const engine = await startEngine(t, { jobs: [double, job] });
    const run = await engine.submitWorkflow(workflow("w", task("m", "parent").withMap([1])));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "cannot generate sub-tasks"));
    assert.throws(
      () => task("m", "double").withMap([1], { concurrency: 0 }).build(),
      says("TASK_INVALID", "concurrency"),
    );
    assert.throws(
      () => task("m", "double").withMap([1], { tolerateFailures: "many" }).build(),
      says("TASK_INVALID", "share"),
    );
    assert.throws(() => new TaskBuilder("m").withMap([1]).withDecision("true").build(), says("TASK_INVALID", "job"));
    await assert.rejects(engine.listMapItems(run.instanceId, "x"), says("TASK_UNKNOWN", "x"));
  });
});
