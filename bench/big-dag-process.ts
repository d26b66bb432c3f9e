import { onNewEngine, record, resultMs } from "./harness.ts";
import { layeredWorkflow, layerWidth } from "./layered-workflow.ts";
import { engineFor } from "./no-op.ts";
import { median } from "./statistics.ts";
import { storageAt } from "./storages/storage-at.ts";

/** What the measuring process sends. */
export interface BigDagTimes {
  readonly smallMs: number;
  readonly largeMs: number;
  /** Building the workflow, before it is submitted. */
  readonly buildMs: number;
  readonly peakRssMb: number;
}

const options = engineFor(layerWidth);
const [what, place = "", ...args] = process.argv.slice(2);
const storage = storageAt(place);

if (what === "record") {
  const [nodes, file = ""] = args;
  const workflow = layeredWorkflow(Number(nodes));
  process.send?.(await record(storage, file, options, (engine) => resultMs(engine, workflow)));
} else {
  const [small, large, warmUps] = args.map(Number);
  process.send?.(await measure(small ?? 0, large ?? 0, warmUps ?? 0));
}
process.disconnect();

/** The small one is run until its code is compiled; otherwise it would be slow, and the large one look good beside it. */
async function measure(small: number, large: number, warmUps: number): Promise<BigDagTimes> {
  const times: number[] = [];
  for (let run = -warmUps; run < 9; run++) {
    const { ms } = await runOnce(small);
    if (run >= 0) times.push(ms);
  }
  const { ms: largeMs, buildMs } = await runOnce(large);
  const peakRssMb = (process.resourceUsage().maxRSS * 1024) / 1e6;
  return { smallMs: median(times), largeMs, buildMs, peakRssMb };
}

async function runOnce(nodes: number): Promise<{ ms: number; buildMs: number }> {
  const start = performance.now();
  const workflow = layeredWorkflow(nodes);
  const buildMs = performance.now() - start;
  const ms = await onNewEngine(storage, options, (engine) => resultMs(engine, workflow));
  return { ms, buildMs };
}
