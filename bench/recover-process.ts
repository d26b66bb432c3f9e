import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../src/index.ts";
import type { Store } from "../src/index.ts";
import { sqlite } from "../src/sqlite.ts";
import { silentLogger } from "../src/base/logger.ts";
import { RecordingStore, saveRecording } from "./recording-store.ts";

/** What the recovering process sends. */
export interface RecoverTimes {
  /** Until every task that ran runs again. */
  readonly ms: number;
  /** Until `start` returned. */
  readonly startMs: number;
  readonly peakRssMb: number;
}

const [what, file = "", countText, recordingFile] = process.argv.slice(2);
const count = Number(countText);
const allRun = Promise.withResolvers<void>();
let called = 0;

/** Runs until its process ends. */
const hold = defineJob("hold", () => {
  if (++called === count) allRun.resolve();
  return new Promise<never>(() => undefined);
});

if (what === "prepare") await prepare();
else if (recordingFile === undefined) await send(await recover(sqlite(file)));
else {
  const store = new RecordingStore({ file });
  const times = await recover(store);
  saveRecording(recordingFile, store);
  await send(times);
}
process.kill(process.pid, "SIGKILL");

function newEngine(storage: Store): Engine {
  return new Engine({ storage, jobs: [hold], poolSize: count, poolSizeMax: count, logger: silentLogger });
}

/** Leaves a store behind in which every instance has a task whose start is on record. */
async function prepare(): Promise<void> {
  const task = new TaskBuilder("hold").withJobFunction(hold).withTimeout(3600);
  const workflow = new WorkflowBuilder().withName("hold").withTask(task).build();
  const engine = newEngine(sqlite(file));
  await engine.start();
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

async function recover(storage: Store): Promise<RecoverTimes> {
  const engine = newEngine(storage);
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
