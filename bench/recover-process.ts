import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../src/index.ts";
import { silentLogger } from "../src/base/logger.ts";
import { storage as storeAt } from "../src/storage.ts";
import { ownsAllShards } from "./harness.ts";
import { Recorder } from "./recording.ts";

/** What the recovering process sends. */
export interface RecoverTimes {
  /** Until every task that ran runs again. */
  readonly ms: number;
  /** Until `start` returned. */
  readonly startMs: number;
  readonly peakRssMb: number;
}

const [what, address = "", countText, recordingFile] = process.argv.slice(2);
const store = await storeAt(address);
const count = Number(countText);
const allRun = Promise.withResolvers<void>();
let called = 0;

/** Runs until its process ends. */
const hold = defineJob("hold", () => {
  if (++called === count) allRun.resolve();
  return new Promise<never>(() => undefined);
});

if (what === "prepare") await prepare();
else if (recordingFile === undefined) await send(await recover());
else {
  const recorder = new Recorder(store);
  const times = await recover();
  recorder.save(recordingFile);
  await send(times);
}
process.kill(process.pid, "SIGKILL");

function newEngine(): Engine {
  return new Engine({ storage: store, jobs: [hold], poolSize: count, poolSizeMax: count, logger: silentLogger });
}

/** Leaves a store behind in which every instance has a task whose start is on record. */
async function prepare(): Promise<void> {
  const task = new TaskBuilder("hold").withJobFunction(hold).withTimeout(3600);
  const workflow = new WorkflowBuilder().withName("hold").withTask(task).build();
  const engine = newEngine();
  await engine.start();
  await ownsAllShards(engine, store);
  const started = startsOnRecord(engine);
  await Promise.all(Array.from({ length: count }, () => engine.submitWorkflow(workflow)));
  await started;
  await send("prepared");
}

async function startsOnRecord(engine: Engine): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = new Set<string>();
  engine.subscribe(({ instanceId, tasks }) => {
    if (tasks.some(({ status }) => status === "Running")) running.add(instanceId);
    if (running.size === count) resolve();
  });
  await promise;
}

async function recover(): Promise<RecoverTimes> {
  const engine = newEngine();
  const start = performance.now();
  await engine.start();
  const startMs = performance.now() - start;
  await allRun.promise;
  const ms = performance.now() - start;
  return { ms, startMs, peakRssMb: (process.resourceUsage().maxRSS * 1024) / 1e6 };
}

/** This process ends by force, and what it says must have left by then. */
async function send(message: unknown): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.send?.(message, undefined, undefined, () => resolve());
  await promise;
}
