/** Spec §10.4: the items of a map are handed in by a running job. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, type Engine, type MapItem, TaskBuilder, Workflow } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { EngineClusterRig } from "./engine-cluster-rig.ts";
import { Gate, newEngine, says, startEngine, task, workflow } from "./rig.ts";
import { countInThread } from "./thread-jobs.ts";
import { RigWorker } from "./worker-rig.ts";

const double = defineJob("double", (_: unknown, ctx) => Number(ctx.item) * 2);

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

async function allItems(engine: Engine, instanceId: string): Promise<MapItem[]> {
  const items: MapItem[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const page = await engine.listMapItems(instanceId, "m", { from });
    items.push(...page.items);
    from = page.next;
  }
  return items;
}

describe("10.4 a map with a source", () => {
  test("10.4 runs items while its source hands them in, also those of a long or asynchronous list", async (t) => {
    const gate = new Gate();
    let ended = 0;
    const source = defineJob("source", async (count: number, ctx) => {
      assert.deepEqual([ctx.item, ctx.index], [undefined, undefined]);
      await ctx.map(numbers(count).map((number) => ({ number, text: "y".repeat(1000) })));
      await until(() => ended === count);
      await ctx.map(
        (async function* () {
          await gate.opened;
          yield { text: "x".repeat(300_000) };
          yield undefined;
        })(),
      );
    });
    const job = defineJob("work", (_: unknown, ctx) => {
      ended++;
      return typeof ctx.item;
    });
    const engine = await startEngine(t, { jobs: [source, job] });
    const run = await engine.submitWorkflow(
      workflow("w", task("m", "work").withMapSource({ job: source, params: 600 }, { concurrency: 500 })),
    );
    await until(() => ended === 600);
    gate.open();
    assert.equal(((await run.result())["m"] as { succeeded: number }).succeeded, 602);
    const items = await allItems(engine, run.instanceId);
    assert.deepEqual(
      items.slice(0, 600).map(({ item }) => (item as { number: number }).number),
      numbers(600),
    );
    assert.deepEqual(
      items.slice(600).map(({ item, output }) => [typeof item, output]),
      [
        ["object", "object"],
        ["object", "object"],
      ],
    );
    const { hooks } = await engine.listMapItems(run.instanceId, "m");
    assert.deepEqual(
      hooks.map(({ name, status, attempt }) => [name, status, attempt]),
      [["source", "Success", 1]],
    );
  });

  test("10.4 items outlive the attempt that handed them in; another attempt does not add them again", async (t) => {
    const calls = new Map<unknown, number>();
    const source = defineJob("source", async (_: unknown, ctx) => {
      await ctx.map(["a", "b"]);
      if (ctx.attempt === 1) throw new Error("not all");
      await ctx.map(["c"]);
    });
    const job = defineJob("work", (_: unknown, ctx) => void calls.set(ctx.item, (calls.get(ctx.item) ?? 0) + 1));
    const engine = await startEngine(t, { jobs: [source, job] });
    const map = () => task("m", "work").withMapSource("source");
    const run = await engine.submitWorkflow(workflow("w", map().withRetryCount(1).withRetryPolicy({ initialMs: 1 })));
    assert.equal(((await run.result())["m"] as { total: number }).total, 3);
    assert.deepEqual(Object.fromEntries(calls), { a: 1, b: 1, c: 1 });
    calls.clear();
    const failed = await engine.submitWorkflow(workflow("w", map()));
    await assert.rejects(failed.result(), says("WORKFLOW_FAILED", "its source job failed: not all"));
    await engine.retryWorkflowInstance(failed.instanceId);
    assert.equal(((await failed.result())["m"] as { total: number }).total, 3);
    assert.deepEqual(Object.fromEntries(calls), { a: 1, b: 1, c: 1 });
  });

  test("10.4 an item hands in further items, to any depth; a reduce reads the results of all", async (t) => {
    const visit = defineJob("visit", async (_: unknown, ctx) => {
      const depth = ctx.item === undefined ? 0 : (ctx.item as { depth: number }).depth;
      if (depth < 4) await ctx.map([{ depth: depth + 1 }, { depth: depth + 1 }]);
      return depth;
    });
    const count = defineJob("count", async (_: unknown, ctx) => {
      const found: Record<number, number> = {};
      for await (const { output } of ctx.results()) found[output as number] = (found[output as number] ?? 0) + 1;
      return found;
    });
    const engine = await startEngine(t, { jobs: [visit, count] });
    const run = await engine.submitWorkflow(
      workflow("w", new TaskBuilder("m").withJobFunction(visit).withMapSource(visit).withReduce(count)),
    );
    assert.deepEqual(await run.result(), { m: { 1: 2, 2: 4, 3: 8, 4: 16 } });
    const spec = { nodes: [{ nodeId: 1, nodeName: "m", jobName: "visit", executeType: 4 as const }] };
    const own = await engine.submitWorkflow(Workflow.fromJSON(spec, { name: "own" }));
    assert.equal(((await own.result())["m"] as { total: number }).total, 30);
  });

  test("10.4 a job in a thread hands in items, and its attempt ends when they are durable", async (t) => {
    const engine = await startEngine(t, { jobs: [countInThread, double] });
    const run = await engine.submitWorkflow(
      workflow("w", task("m", "double").withMapSource({ job: countInThread, params: 5 })),
    );
    assert.deepEqual(await run.result(), { m: { total: 5, succeeded: 5, failed: 0, results: [0, 2, 4, 6, 8] } });
  });

  test("10.4 goes on after a restart, with the items that were handed in before it", async (t) => {
    const path = temporaryFile(t);
    const gate = new Gate();
    const calls = new Map<number, number>();
    let runs = 0;
    const source = defineJob("source", async (_: unknown, ctx) => {
      runs++;
      await ctx.map(numbers(20));
      await Promise.race([gate.opened, new Promise((resolve) => ctx.signal.addEventListener("abort", resolve))]);
      ctx.signal.throwIfAborted();
      await ctx.map(numbers(3));
    });
    const job = defineJob("work", (item: number) => void calls.set(item, (calls.get(item) ?? 0) + 1));
    const jobs = [source, job];
    const first = newEngine({ storage: sqlite(path), jobs });
    await first.start();
    const { instanceId } = await first.submitWorkflow(workflow("w", task("m", "work").withMapSource("source")));
    await until(() => calls.size === 20);
    await first.stop();
    gate.open();
    const second = await startEngine(t, { storage: sqlite(path), jobs });
    assert.equal(((await second.awaitWorkflowInstance(instanceId))["m"] as { total: number }).total, 23);
    assert.deepEqual([runs, calls.get(2), calls.get(3)], [2, 2, 1]);
  });

  test("10.4 workers of all members hand in items; a lost worker's are there when its job runs again", async (t) => {
    const gate = new Gate();
    const runs: string[] = [];
    const source = defineJob("source", async (_: unknown, ctx) => {
      runs.push(ctx.attemptId);
      await ctx.map(numbers(30));
      if (runs.length === 1) await gate.opened;
      await ctx.map(numbers(2));
    });
    const [rig, a, b] = await EngineClusterRig.start(t, 2, {
      jobs: [source, double],
      runsJobs: false,
      remoteWorkers: true,
    });
    const x = await RigWorker.start(t, rig, { members: [b], jobs: [source] });
    await RigWorker.start(t, rig, { members: [a], jobs: [double] });
    const id = await rig.idOn(a);
    const flow = workflow("w", task("m", "double").withMapSource("source").withTimeout(1000));
    await rig.clock.until(a.engine.submitWorkflow(flow, { instanceId: id }));
    const succeeded = async (): Promise<number> =>
      (await rig.clock.until(a.engine.listMapItems(id, "m"))).counts.succeeded;
    while ((await succeeded()) < 30) await rig.clock.advance(500);
    x.kill();
    await RigWorker.start(t, rig, { members: [b], jobs: [source] });
    const result = await rig.clock.until(a.engine.awaitWorkflowInstance(id));
    assert.equal((result["m"] as { total: number }).total, 32);
    assert.deepEqual([runs.length, new Set(runs).size], [2, 1], "an attempt that was lost runs again under its id");
  });

  test("10.4 what cannot hand in items is refused; a call that was not awaited fails its attempt", async (t) => {
    const careless = defineJob("careless", (given: unknown, ctx) => {
      void ctx.map(given as number[]);
    });
    const engine = await startEngine(t, { jobs: [careless, double] });
    const failureOf = async (built: Parameters<typeof workflow>[1]): Promise<string> => {
      const run = await engine.submitWorkflow(workflow("w", built));
      return await run.result().then(String, (error: unknown) => String(error));
    };
    assert.match(await failureOf(task("m", "careless")), /neither the source of a map nor one of its items/);
    assert.match(await failureOf(task("m", "careless").withMap([[1]])), /no part of a map with a source/);
    const source = (params: unknown) => task("m", "double").withMapSource({ job: "careless", params });
    assert.match(await failureOf(source(7)), /ctx.map of task "m\[source\]" takes a list/);
    assert.match(await failureOf(source("items")), /takes a list/);
    assert.throws(() => task("m", "double").withMapSource(" ").build(), says("TASK_INVALID", "map.source.jobName"));
    assert.throws(
      () =>
        task("m", "double")
          .withMap(undefined as unknown as [])
          .build(),
      says("TASK_INVALID", "items"),
    );
  });
});
