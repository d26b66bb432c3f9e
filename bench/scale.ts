/**
 * What a large cluster costs each of its members: statements, rows and bytes of the database, messages between members and
 * to workers, when all start, at rest, under load, and when a member joins, leaves and dies.
 *
 *   node bench/scale.ts [--members 25,50,100] [--shards 4096] [--sleepers 1000000] [--workers 10000]
 *                       [--load 5] [--detail] [--json]
 *
 * All members run in this process, on virtual time, with a database in memory; everything else is the engine itself. Of
 * several numbers of members each is a cluster of its own, with the same number of shards, and sleepers and workers in
 * proportion: what each member owns of them stays the same.
 *   --load    instances that are started at each member per second
 *   --detail  each kind of statement and message
 *   --json    one JSON object per line
 */
import { readFlags } from "../scripts/command-line.ts";
import { playLoad } from "./scale/load.ts";
import { type Cost, costsOf } from "./scale/meter.ts";
import { SimulatedCluster } from "./scale/simulated-cluster.ts";

const flags = readFlags(import.meta.url, {
  members: { type: "string", default: "25,50,100" },
  shards: { type: "string", default: "4096" },
  sleepers: { type: "string", default: "1000000" },
  workers: { type: "string", default: "10000" },
  load: { type: "string", default: "5" },
  detail: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
});

interface Phase {
  readonly name: string;
  readonly seconds: number;
  /** Runs while the cost is counted. */
  readonly act?: (cluster: SimulatedCluster) => unknown;
}

const restSeconds = 60;
const loadSeconds = 30;
/** Longer than it takes until a member that dies is removed and its shards are taken over. */
const changeSeconds = 60;

const phases: readonly Phase[] = [
  { name: "at rest", seconds: restSeconds },
  {
    name: "one console open",
    seconds: restSeconds,
    act: async ({ members, time }) => {
      const unsubscribe = members[0]?.engine.subscribe(() => undefined);
      await time.sleep(restSeconds * 1000 - 1000);
      unsubscribe?.();
    },
  },
  {
    name: "under load",
    seconds: loadSeconds,
    act: (cluster) => playLoad(cluster, { perSecond: Number(flags.load), seconds: loadSeconds }),
  },
  { name: "calm again", seconds: 30 },
  { name: "a member joins", seconds: changeSeconds, act: (cluster) => cluster.join() },
  { name: "a member leaves", seconds: changeSeconds, act: (cluster) => cluster.leave() },
  { name: "a member dies", seconds: changeSeconds, act: (cluster) => cluster.die() },
];

const areaOf = (key: string): string => key.slice(0, key.indexOf(" "));
const round = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(2));

function report(phase: string, members: number, costs: ReadonlyMap<string, Cost>): void {
  for (const [name, { mean, most }] of costs) {
    if (flags.json) console.log(JSON.stringify({ members, phase, name, mean, most }));
    else {
      const values = [mean.calls, mean.rows, mean.bytes, most.calls, most.rows, most.bytes];
      console.log(
        `${String(members).padStart(4)}  ${phase.padEnd(17)} ${name.padEnd(28)} ${values.map((each) => round(each).padStart(9)).join("")}`,
      );
    }
  }
}

/** Counts since the last report. */
function reportAll(phase: string, cluster: SimulatedCluster, seconds: number): void {
  const counts = cluster.take();
  const { members } = cluster.size;
  report(phase, members, costsOf(counts, seconds, areaOf));
  if (!flags.detail) return;
  report(
    phase,
    members,
    costsOf(counts, seconds, (key) => key),
  );
}

async function run(cluster: SimulatedCluster): Promise<void> {
  const { size } = cluster;
  const began = performance.now();
  await cluster.start();
  if (!flags.json)
    console.log(
      `# started after ${((performance.now() - began) / 1000).toFixed(0)} s, at ${cluster.time.now.toFixed(0)} ms`,
    );
  reportAll("all start", cluster, cluster.time.now / 1000);
  for (const { name, seconds, act } of phases) {
    const cpu = process.cpuUsage();
    const acted = act?.(cluster);
    await cluster.time.sleep(seconds * 1000);
    const { user, system } = process.cpuUsage(cpu);
    reportAll(name, cluster, seconds);
    const cores = (user + system) / 1e6 / seconds / size.members;
    console.log(
      flags.json
        ? JSON.stringify({ members: size.members, phase: name, cores })
        : `# ${name}: ${(cores * 100).toFixed(2)} % of a core per member`,
    );
    await acted;
  }
}

const sizes = flags.members.split(",").map(Number);
const largest = Math.max(...sizes);
for (const members of sizes) {
  const inProportion = (all: string): number => Math.round((Number(all) * members) / largest);
  const cluster = new SimulatedCluster({
    members,
    shards: Number(flags.shards),
    sleepers: inProportion(flags.sleepers),
    workers: inProportion(flags.workers),
  });
  await cluster.time.runUntil(run(cluster));
}
