import { setTimeout } from "node:timers/promises";
import type { PeerFigures } from "../peer-figures.ts";
import { median, percentile } from "../statistics.ts";
import type { Peer, StartPeer } from "./peer.ts";

/** A process loads the packages of its own peer only. */
const peers: Readonly<Record<string, () => Promise<StartPeer>>> = {
  dbos: async () => (await import("./dbos.ts")).startDbos,
  openworkflow: async () => (await import("./openworkflow.ts")).startOpenworkflow,
  restate: async () => (await import("./restate.ts")).startRestate,
  bullmq: async () => (await import("./bullmq.ts")).startBullmq,
  "graphile-worker": async () => (await import("./graphile-worker.ts")).startGraphileWorker,
};

const inFlight = 1000;
const [name = "", url = "", runsText, size] = process.argv.slice(2);
const runs = Number(runsText);
const isQuick = size === "quick";

// Others' packages warn of what is theirs to change.
process.noDeprecation = true;
const load = peers[name];
if (load === undefined) throw new Error(`no peer is called "${name}"`);
const start = await load();
const figures = await measure(await start(url));
// What a peer keeps open ends with its process.
process.send?.(figures, undefined, undefined, () => process.exit(0));

async function measure(peer: Peer): Promise<PeerFigures> {
  const workflowsPerSecond = await throughput(peer);
  // What it puts off until it is idle is not part of an idle latency.
  await setTimeout(1000);
  const latencies = await latency(peer, isQuick ? 50 : 200);
  return {
    setup: peer.setup,
    workflowsPerSecond,
    stepsPerSecond: await stepsPerSecond(peer, isQuick ? 100 : 500),
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

/** The first go warms up, and tells how many it takes for one that lasts a few seconds. */
async function throughput(peer: Peer): Promise<number> {
  const first = await perSecond(2 * inFlight, () => runMany(peer, 2 * inFlight));
  const count = Math.max(2 * inFlight, Math.round(first * (isQuick ? 2 : 5)));
  const rates: number[] = [];
  for (let run = 0; run < runs; run++) rates.push(await perSecond(count, () => runMany(peer, count)));
  return median(rates);
}

async function runMany(peer: Peer, count: number): Promise<void> {
  let submitted = 0;
  const client = async (): Promise<void> => {
    while (submitted++ < count) await peer.run();
  };
  await Promise.all(Array.from({ length: inFlight }, client));
}

async function latency(peer: Peer, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let run = 0; run < count; run++) {
    const start = performance.now();
    await peer.run();
    latencies.push(performance.now() - start);
  }
  return latencies;
}

async function stepsPerSecond({ runSteps }: Peer, steps: number): Promise<number | undefined> {
  if (runSteps === undefined) return undefined;
  await runSteps(steps);
  const rates: number[] = [];
  for (let run = 0; run < runs; run++) rates.push(await perSecond(steps, () => runSteps(steps)));
  return median(rates);
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (count / (performance.now() - start)) * 1000;
}
