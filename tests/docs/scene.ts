/**
 * Runs one example of the documents: gives it what the guide says an example may take as given, imports it, and ends the process.
 * An example that throws fails; one that waits for ever is ended by the test.
 *
 * `node scene.ts <example> <scene>`, in an empty folder.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import * as heddle from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore } from "../../src/testing.ts";

const { defineJob, defineWorkflow, Engine, TaskBuilder, WorkflowBuilder } = heddle;

const [, , example = "", scene = ""] = process.argv;

/** Runs until its attempt is aborted. */
async function hold({ signal }: heddle.JobContext): Promise<never> {
  return await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
}

const extract = defineJob("extract", { input: z.object({ table: z.string() }) }, async ({ table }, ctx) => {
  if ((scene === "held" || scene === "server") && table === "orders") await hold(ctx);
  if (scene === "failed" && table === "orders") throw new Error("the source is away");
  return { rows: table.length * 1000 };
});
const others = ["join", "shard", "load", "index", "verify", "price", "hello", "good-morning"].map((name) =>
  defineJob(name, () => name),
);
const welcome = defineWorkflow("welcome", async (_ctx, input: { name: string }) => `Hello, ${input.name}!`);
const report = defineWorkflow("example-report", async () => "a report");
const trouble = defineWorkflow("trouble", async () => {
  throw new Error("no luck");
});

const nightly =
  scene === "cluster"
    ? oneTask("nightly", "fetch-prices")
    : new WorkflowBuilder()
        .withName("nightly")
        .withTask(new TaskBuilder("orders").withJobFunction(extract, { table: "orders" }))
        .withTask(new TaskBuilder("items").withJobFunction(extract, { table: "items" }))
        .withTask(new TaskBuilder("join").withJobFunction("join").withDependencies(["orders", "items"]))
        .build();

function oneTask(name: string, job: string): heddle.Workflow {
  return new WorkflowBuilder().withName(name).withTask(new TaskBuilder("only").withJobFunction(job)).build();
}

const jobs = [extract, ...others];
const engine = new Engine({ storage: memoryStore(), jobs, workflows: [nightly] });
await engine.start();

Object.assign(globalThis, heddle, {
  sqlite,
  z,
  engine,
  nightly,
  extract,
  copyTable: async (table: string) => table.length,
  fetchRates: async () => ({ EUR: 1 }),
  simulate: (months: number) => months,
  runConverter: (file: string) => file,
});

if (scene === "held" || scene === "failed") await giveRun();
if (scene === "server") await giveServer();
if (scene === "history") await giveHistory();
// A server runs until somebody stops it.
if (scene === "signal") setTimeout(() => process.kill(process.pid, "SIGTERM"), 1500);

// Tests end by themselves, and say with the exit code whether they passed.
const isTest = scene === "test" || scene === "history";
if (isTest) await engine.stop();
await import(pathToFileURL(example).href);
// Engines and servers that an example leaves running are not waited for.
if (!isTest) process.exit(0);

async function giveRun(): Promise<void> {
  const run = await engine.submitWorkflow(nightly, { instanceId: "nightly-1" });
  Object.assign(globalThis, { run, instanceId: run.instanceId });
  if (scene === "failed") await run.result().catch(() => undefined);
}

async function giveServer(): Promise<void> {
  const { loadConfig, Server } = await import("../../src/server.ts");
  const [port, grpcPort] = [Number(process.env["DOCS_PORT"]), Number(process.env["DOCS_GRPC_PORT"])];
  const config = { ...loadConfig({ environment: {} }), port, grpcPort };
  const workflows = [welcome, report, trouble, nightly];
  const server = await Server.start(config, { store: sqlite("./server.db"), jobs, workflows });
  await server.engine.startWorkflow(trouble, undefined);
  await server.engine.submitWorkflow(nightly, { instanceId: "nightly-2026-03-01" });
}

async function giveHistory(): Promise<void> {
  const charge = defineJob("charge", () => "paid");
  const order = defineWorkflow("order", async (ctx, { amount }: { amount: number }) => ctx.run("charge", { amount }));
  const shop = new Engine({ storage: memoryStore(), jobs: [charge], workflows: [order] });
  await shop.start();
  const handle = await shop.startWorkflow(order, { amount: 5 });
  await handle.result();
  mkdirSync("tests/histories", { recursive: true });
  const history = await shop.exportWorkflowInstanceHistory(handle.instanceId);
  writeFileSync("tests/histories/order.json", JSON.stringify(history));
  await shop.stop();
}
