/** The compiler's part of the API: these tests fail when they do not compile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineJob, Engine, type Job, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { Lines, newEngine, says, startEngine, temporaryFile, workflow } from "./rig.ts";

async function copyTable(table: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  return await Promise.resolve(table.length);
}

const extract = defineJob("extract", { input: z.object({ table: z.string() }) }, async ({ table }, ctx) => {
  ctx.log.info({ table }, "extracting");
  return { rows: await copyTable(table, ctx.signal) };
});
const join = defineJob("join", (_params: unknown, ctx) => ({ joined: Object.keys(ctx.outputs) }));
const index = defineJob("index", () => "indexed");

test("the example of the README compiles and runs", async (t) => {
  const logger = new Lines();
  const engine = new Engine({
    storage: sqlite(temporaryFile(t)),
    jobs: [extract, join, index],
    domains: { "market-data": { size: 4, priority: 10 } },
    logger,
  });
  await engine.start();
  const nightly = new WorkflowBuilder()
    .withName("nightly")
    .withDomain("market-data")
    .withTask(
      new TaskBuilder("orders").withJobFunction(extract, { table: "orders" }).withTimeout(60).withRetryCount(3).build(),
    )
    .withTask(new TaskBuilder("join").withJobFunction("join").withDependency("orders").build())
    .build();
  const run = await engine.submitWorkflow(nightly);
  assert.deepEqual(await run.result(), { orders: { rows: 6 }, join: { joined: ["orders"] } });
  assert.equal(logger.find("info", /extracting/)?.fields["table"], "orders");
  assert.equal(logger.find("info", /extracting/)?.fields["instanceId"], run.instanceId);
  await engine.stop();
});

test("wrong params for a job object do not compile, and are refused all the same", () => {
  const orders = new TaskBuilder("orders");
  const invalid = says("PARAMS_INVALID", '"orders"', "table");
  // @ts-expect-error table is text
  assert.throws(() => orders.withJobFunction(extract, { table: 1 }).build(), invalid);
  // @ts-expect-error it is called table
  assert.throws(() => orders.withJobFunction(extract, { tabel: "x" }).build(), invalid);
  // @ts-expect-error params are missing
  assert.throws(() => orders.withJobFunction(extract).build(), says("PARAMS_INVALID", '"orders"'));
  const task = orders.withJobFunction(extract, { table: "orders" }).build();
  // @ts-expect-error a task remembers what its job takes
  assert.throws(() => task.updateParams({ table: 1 }), invalid);
  task.updateParams({ table: "customers" });
});

test("the schema's types reach the function, whatever other options stand beside it", () => {
  const input = z.object({ table: z.string() });
  const source = { module: import.meta.url, export: "none" };
  const jobs = [
    // @ts-expect-error a table is text
    defineJob("a", { input, jobId: 5 }, ({ table }): number => table),
    // @ts-expect-error a table is text
    defineJob("b", { input, source }, ({ table }): number => table),
    // @ts-expect-error a table is text
    defineJob("c", { input, source, isolation: "thread" }, ({ table }): number => table),
    defineJob("d", { jobId: 7 }, ({ table }: { table: string }) => table),
  ];
  assert.equal(jobs.length, 4);
});

test("settings out of their range of words do not compile", () => {
  const builder = new WorkflowBuilder().withName("w").withTask(new TaskBuilder("t").withJobFunction("join"));
  // @ts-expect-error there is no such policy
  assert.throws(() => builder.withFailurePolicy("stop").build(), says("WORKFLOW_INVALID", '"w"', '"stop"'));
  assert.throws(
    // @ts-expect-error a job runs inline or in a thread
    () => defineJob("j", { isolation: "process" }, () => 1),
    says("JOB_INVALID", '"j"', '"process"'),
  );
});

test("registerJobFunction knows what the schema gives", async (t) => {
  const engine = await startEngine(t);
  engine.registerJobFunction("double", ({ n }) => n.toFixed(1), { input: z.object({ n: z.number() }) });
  const run = await engine.submitWorkflow(workflow("w", new TaskBuilder("t").withJobFunction("double", { n: 2 })));
  assert.deepEqual(await run.result(), { t: "2.0" });
  newEngine().registerJobFunction(
    "double",
    // @ts-expect-error the schema gives a number
    ({ n }: { n: string }) => n.length,
    { input: z.object({ n: z.number() }) },
  );
});

test("jobs of all kinds fit into one list", () => {
  const jobs: readonly Job[] = [extract, join, index];
  assert.equal(new Engine({ storage: sqlite(":memory:"), jobs }).health.status, "new");
});
