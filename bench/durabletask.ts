/**
 * A workflow of one activity through Microsoft's SDK for Durable Task, beside the same workflow on Heddle's own worker, and
 * beside the backend in memory that the SDK brings along for tests.
 *
 *   node bench/durabletask.ts [--count 1000] [--in-flight 50]
 *
 * The server is on SQLite, in a process of its own; workers and clients are in this one. Latencies are of one workflow after
 * the other, from its start to its result, in blocks by turns, so that a noisy machine hits all of them.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { readFlags } from "../scripts/command-line.ts";
import { silentLogger } from "../src/base/logger.ts";
import { HeddleClient } from "../src/client.ts";
import { defineJob, defineWorkflow } from "../src/index.ts";
import { loadConfig } from "../src/server/config/load-config.ts";
import { Server } from "../src/server/server.ts";
import { sqlite } from "../src/sqlite.ts";
import { Worker } from "../src/worker.ts";
import { inFolder } from "./folder.ts";
import { median, percentile } from "./statistics.ts";

/** The other process. */
async function serve(folder: string): Promise<void> {
  const config = { ...loadConfig({ folder }), port: 0, grpcPort: 0, logLevel: "warn" as const };
  const server = await Server.start(config, { store: sqlite(join(folder, "durabletask.db")), logger: silentLogger });
  process.on("message", () => void server.stop().then(() => process.disconnect()));
  process.send?.({ url: server.url, grpcPort: server.grpcPort });
}

interface Ports {
  readonly url: string;
  readonly grpcPort: number;
}

/** One way to run the workflow. */
interface Way {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

async function heddle({ url }: Ports): Promise<Way> {
  const addOne = defineJob("addOne", (n: number) => n + 1);
  const one = defineWorkflow("one", (ctx, n: number) => ctx.run(addOne, n));
  const worker = new Worker({ url, jobs: [addOne], workflows: [one], slots: 50, logger: silentLogger });
  await worker.start();
  const client = new HeddleClient({ url });
  return {
    name: "Heddle's own worker and client",
    run: async () => await client.result(await client.start("one", 1)),
    stop: () => worker.drain(),
  };
}

/** The parts of the SDK that are used. Its own types do not hold without `skipLibCheck`. */
interface Sdk {
  readonly TaskHubGrpcWorker: new (options: object) => SdkWorker;
  readonly TaskHubGrpcClient: new (options: object) => SdkClient;
  readonly TestOrchestrationWorker: new (backend: object) => SdkWorker;
  readonly TestOrchestrationClient: new (backend: object) => SdkClient;
  readonly InMemoryOrchestrationBackend: new () => object;
}

interface SdkWorker {
  addNamedActivity(name: string, activity: (context: unknown, n: number) => number): string;
  addNamedOrchestrator(name: string, orchestrator: (ctx: SdkContext, n: number) => AsyncGenerator): string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface SdkContext {
  callActivity(name: string, n: number): object;
}

interface SdkClient {
  scheduleNewOrchestration(name: string, input: unknown): Promise<string>;
  waitForOrchestrationCompletion(id: string, withPayloads: boolean, seconds: number): Promise<unknown>;
  stop(): Promise<void>;
}

const packageName: string = "@microsoft/durabletask-js";
/** The backend in memory takes no logger, and writes each event to the console. */
console.log = console.info = console.debug = () => undefined;

const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };

async function sdkWay(name: string, worker: SdkWorker, client: SdkClient): Promise<Way> {
  worker.addNamedActivity("addOne", (_context, n) => n + 1);
  worker.addNamedOrchestrator("one", async function* (ctx, n) {
    return (yield ctx.callActivity("addOne", n)) as number;
  });
  await worker.start();
  return {
    name,
    run: async () => {
      const id = await client.scheduleNewOrchestration("one", 1);
      return await client.waitForOrchestrationCompletion(id, true, 60);
    },
    stop: async () => {
      await worker.stop();
      await client.stop();
    },
  };
}

const warmUps = 100;
const block = 100;

async function latencies(ways: readonly Way[], count: number): Promise<Map<Way, number[]>> {
  const measured = new Map(ways.map((way): [Way, number[]] => [way, []]));
  for (const way of ways) for (let n = 0; n < warmUps; n++) await way.run();
  for (let done = 0; done < count; done += block) {
    for (const [way, times] of measured) {
      for (let n = 0; n < Math.min(block, count - done); n++) {
        const start = performance.now();
        await way.run();
        times.push(performance.now() - start);
      }
    }
  }
  return measured;
}

async function perSecond({ run }: Way, count: number, inFlight: number): Promise<number> {
  let started = 0;
  const client = async (): Promise<void> => {
    while (started++ < count) await run();
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, client));
  return (count / (performance.now() - start)) * 1000;
}

async function measure(folder: string, { count, inFlight }: { count: number; inFlight: number }): Promise<void> {
  const child = fork(import.meta.filename, ["--serve", folder]);
  const [ports] = (await once(child, "message")) as [Ports];
  const loaded = (await import(packageName)) as Sdk & { readonly default?: Sdk };
  const sdk = loaded.default ?? loaded;
  const options = { hostAddress: `127.0.0.1:${ports.grpcPort}`, logger: quiet };
  const backend = new sdk.InMemoryOrchestrationBackend();
  const own = await heddle(ports);
  const ways = [
    own,
    await sdkWay("Microsoft's SDK, on Heddle", new sdk.TaskHubGrpcWorker(options), new sdk.TaskHubGrpcClient(options)),
    await sdkWay(
      "Microsoft's SDK, in its backend in memory",
      new sdk.TestOrchestrationWorker(backend),
      new sdk.TestOrchestrationClient(backend),
    ),
  ];
  const measured = await latencies(ways, count);
  const base = median(measured.get(own) ?? []);
  for (const [way, times] of measured) {
    const [p50, p99] = [median(times), percentile(times, 0.99)];
    const rate = await perSecond(way, count, inFlight);
    const ratio = (p50 / base).toFixed(2);
    process.stdout.write(
      `${way.name}: p50 ${p50.toFixed(1)} ms (${ratio} x), p99 ${p99.toFixed(1)} ms, ${rate.toFixed(0)}/s with ${inFlight} in flight\n`,
    );
  }
  for (const { stop } of ways) await stop();
  child.send("stop");
  await once(child, "exit");
}

const serveFolder = process.argv[2] === "--serve" ? process.argv[3] : undefined;
if (serveFolder !== undefined) await serve(serveFolder);
else {
  const flags = readFlags(import.meta.filename, {
    count: { type: "string", default: "1000" },
    "in-flight": { type: "string", default: "50" },
  });
  const given = { count: Number(flags.count), inFlight: Number(flags["in-flight"]) };
  await inFolder((folder) => measure(folder, given));
}
