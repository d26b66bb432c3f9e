import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineWorkflow, type Engine } from "../src/index.ts";
import { onNewEngine } from "./harness.ts";
import { engineFor, noOp } from "./no-op.ts";
import { percentile } from "./statistics.ts";
import { storageAt } from "./storages/storage-at.ts";

/** What the measuring process sends. */
export interface SleepersMeasured {
  readonly bytesEach: number;
  readonly drainMs: number;
  /** Of one-activity workflows that are started one by one meanwhile. */
  readonly othersP50Ms: number;
  readonly othersP99Ms: number;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** All wake at the same moment. */
const asleep = defineWorkflow("asleep", (ctx, dueAt: number) => ctx.sleep(new Date(dueAt)));
const other = defineWorkflow("other", (ctx) => ctx.run(noOp));

const [place = "", count = "0"] = process.argv.slice(2);
process.send?.(
  await onNewEngine(storageAt(place), { ...engineFor(100), workflows: [asleep, other], idleMax: 100 }, (engine) =>
    measure(engine, Number(count)),
  ),
);
process.disconnect();

async function measure(engine: Engine, sleepers: number): Promise<SleepersMeasured> {
  const before = heapUsed();
  // Late enough for all to be asleep by then, also on a slow machine.
  const dueAt = Date.now() + 10_000 + sleepers / 4;
  let started = 0;
  const client = async (): Promise<void> => {
    while (started++ < sleepers) await engine.startWorkflow(asleep, dueAt);
  };
  await Promise.all(Array.from({ length: 1000 }, client));
  const bytesEach = (heapUsed() - before) / sleepers;
  await delay(dueAt - Date.now());
  const start = performance.now();
  const latencies: number[] = [];
  while (engine.health.unfinishedInstances > 0) {
    const asked = performance.now();
    await (await engine.startWorkflow(other)).result();
    latencies.push(performance.now() - asked);
  }
  const drainMs = performance.now() - start;
  return { bytesEach, drainMs, othersP50Ms: percentile(latencies, 0.5), othersP99Ms: percentile(latencies, 0.99) };
}

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
