/** The compiler's part of the API: these tests fail when they do not compile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  type CodeWorkflow,
  defineJob,
  defineWorkflow,
  Engine,
  type Job,
  type ScheduleSpec,
  TaskBuilder,
  WorkflowBuilder,
  type WorkflowContext,
  type WorkflowHandle,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { newEngine, says, startEngine, workflow } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";

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
  const logger = new LogBook();
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

test("wrong params for a job that runs by itself do not compile, and are refused all the same", async (t) => {
  const engine = await startEngine(t, { jobs: [extract] });
  const invalid = says("PARAMS_INVALID", '"extract"');
  // @ts-expect-error table is text
  await assert.rejects(engine.runJob(extract, { table: 1 }), invalid);
  // @ts-expect-error params are missing
  await assert.rejects(engine.runJob(extract), invalid);
  const target = { workflow: "w", job: "extract" };
  // @ts-expect-error a schedule has a workflow or a job
  const both: ScheduleSpec = { ...target, every: { rateMs: 1000 } };
  await assert.rejects(engine.schedules.create("s", both), says("SCHEDULE_INVALID"));
  const run = await engine.runJob(extract, { table: "orders" }, { retryCount: 1 });
  assert.deepEqual(await run.result(), { extract: { rows: 6 } });
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
    // @ts-expect-error there is no such isolation
    () => defineJob("j", { isolation: "container" }, () => 1),
    says("JOB_INVALID", '"j"', '"container"'),
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

// Code workflows

/** Compiles only where both types are the same. */
function isExactly<Expected>() {
  return <Actual>(_value: [Actual, Expected] extends [Expected, Actual] ? Actual : never): void => undefined;
}

const charge = defineJob(
  "charge",
  { input: z.object({ cents: z.number(), currency: z.string().default("EUR") }) },
  async ({ cents, currency }) => await Promise.resolve({ receipt: `${cents} ${currency}`, at: 1 }),
);
const refund = defineWorkflow("refund", { input: z.object({ receipt: z.string() }) }, async (ctx, { receipt }) => {
  isExactly<string>()(receipt);
  await ctx.run(index);
  return receipt.length;
});
const order = defineWorkflow(
  "order",
  { input: z.object({ id: z.string(), cents: z.coerce.number() }), output: z.object({ receipt: z.string() }) },
  async (ctx, input) => {
    isExactly<{ id: string; cents: number }>()(input);
    const paid = await ctx.run(charge, { cents: input.cents });
    isExactly<{ receipt: string; at: number }>()(paid);
    isExactly<number>()(await ctx.callChild(refund, { receipt: paid.receipt }));
    isExactly<string>()(ctx.startChild(refund, { receipt: paid.receipt }));
    ctx.undo(() => ctx.run(charge, { cents: 1 }));
    ctx.onCancel(() => ctx.run(charge, { cents: 1 }));
    await ctx.run(charge, { cents: 1 }, { undo: ({ at }) => ctx.run(charge, { cents: at }) });
    return { receipt: paid.receipt };
  },
);

test("the types of schemas reach the code, its activities, its children and whoever waits for its result", async (t) => {
  const engine = await startEngine(t, { jobs: [charge, index], workflows: [order, refund] });
  const handle = await engine.startWorkflow(order, { id: "o", cents: "5" }, { instanceId: "o" });
  isExactly<WorkflowHandle<{ receipt: string }>>()(handle);
  const result = await handle.result();
  isExactly<{ receipt: string }>()(result);
  assert.deepEqual(result, { receipt: "5 EUR" });
  const signaled = await engine.signalWithStart(refund, {
    instanceId: "r",
    input: { receipt: "abc" },
    event: { name: "any" },
  });
  isExactly<number>()(await signaled.result());
  const again = await engine.getWorkflowHandle<{ receipt: string }>("o");
  isExactly<{ receipt: string }>()(await again.result());
  isExactly<unknown>()(await engine.updateWorkflowInstance("o", "none").catch((error: unknown) => error));
});

test("wrong inputs of code workflows do not compile, and are refused all the same", async (t) => {
  const engine = await startEngine(t, { jobs: [charge], workflows: [order, refund] });
  const invalid = says("INPUT_INVALID", 'the input of workflow "refund"', "receipt");
  // @ts-expect-error a receipt is text
  await assert.rejects(engine.startWorkflow(refund, { receipt: 5 }), invalid);
  // @ts-expect-error it is called receipt
  await assert.rejects(engine.startWorkflow(refund, { reciept: "5" }), invalid);
  // @ts-expect-error the input is missing
  await assert.rejects(engine.startWorkflow(refund), says("INPUT_INVALID", '"refund"'));
  await assert.rejects(
    // @ts-expect-error a receipt is text
    engine.signalWithStart(refund, { instanceId: "r", input: { receipt: 5 }, event: { name: "e" } }),
    invalid,
  );
  const handle = await engine.startWorkflow(refund, { receipt: "5" });
  // @ts-expect-error the result is a number
  const wrong: () => Promise<string> = () => handle.result();
  assert.equal(typeof wrong, "function");
});

test("wrong inputs of steps do not compile", () => {
  const body = async (ctx: WorkflowContext): Promise<void> => {
    // @ts-expect-error cents are a number
    await ctx.run(charge, { cents: "5" });
    // @ts-expect-error the input is missing
    await ctx.run(charge);
    // @ts-expect-error there is no such option
    await ctx.run(charge, { cents: 5 }, { retries: 3 });
    // @ts-expect-error what is undone is what the job gave
    await ctx.run(charge, { cents: 5 }, { undo: (output: number) => void output });
    // @ts-expect-error a receipt is text
    await ctx.callChild(refund, { receipt: 5 });
    // @ts-expect-error a wait is a number of ms or a date
    await ctx.sleep("1 day");
    // @ts-expect-error the schema gives a number
    const n: string = await ctx.waitForEvent("n", { schema: z.number() });
    // @ts-expect-error the code does not go on after this
    const after: string = ctx.continueAsNew(n);
    isExactly<string | number>()(await ctx.race([ctx.waitForEvent<string>("s"), ctx.waitForEvent<number>("n")]));
    isExactly<[string, number]>()(await ctx.all([ctx.waitForEvent<string>(after), ctx.waitForEvent<number>("n")]));
    ctx.onUpdate("u", { input: z.object({ n: z.number() }), handler: ({ n: given }) => isExactly<number>()(given) });
  };
  assert.equal(body.length, 1);
});

test("a workflow's own options and output are checked by the compiler", () => {
  const text = z.string();
  const workflows = [
    // @ts-expect-error the output is text
    defineWorkflow("a", { output: text }, async () => await Promise.resolve(5)),
    // @ts-expect-error the input is text
    defineWorkflow("b", { input: text }, async (_ctx, input: number) => await Promise.resolve(input)),
    // @ts-expect-error a version is text
    defineWorkflow.bind(undefined, "c", { version: 5 }, async () => await Promise.resolve()),
    // @ts-expect-error the code of a workflow is an async function
    defineWorkflow("d", () => 5),
    defineWorkflow(
      "e",
      { version: "2", timeoutSeconds: 5 },
      async (ctx, n: number) => await ctx.run(index).then(() => n),
    ),
  ];
  assert.equal(workflows.length, 5);
});

test("workflows of all kinds fit into one list, beside DAGs", () => {
  const code: readonly CodeWorkflow[] = [order, refund];
  const workflows = [...code, workflow("dag", new TaskBuilder("t").withJobFunction("index"))];
  assert.equal(new Engine({ storage: sqlite(":memory:"), workflows }).health.status, "new");
  assert.equal(newEngine({ workflows: [order, refund] }).health.status, "new");
});
