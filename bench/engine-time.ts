/**
 * The engine's own cost of a one-task workflow: processor time inside and outside `Store.commit`, and bytes allocated. On a
 * server, which is started for the run, what is inside is encoding and sending; reading the answers counts as outside.
 *
 *   node bench/engine-time.ts [--storage sqlite|postgresql|mysql] [--rounds 5] [--workflows 20000]
 *
 * To compare two versions, run it by turns in a checkout of each: a shared machine changes by the minute.
 */
import { Session } from "node:inspector/promises";
import { readFlags } from "../scripts/command-line.ts";
import { storage as storeAt } from "../src/storage.ts";
import type { Store } from "../src/stores/store.ts";
import { onEngine } from "./harness.ts";
import { engineFor } from "./no-op.ts";
import { inFlight, oneTaskWorkflow, runMany } from "./one-task.ts";
import { Servers } from "./servers/servers.ts";
import { median } from "./statistics.ts";
import type { BenchStorage } from "./storages/bench-storage.ts";
import { storageAt } from "./storages/storage-at.ts";

interface Round {
  readonly engineUs: number;
  readonly storeUs: number;
}

function processorUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Adds up the processor time of the calls of the store's commits, which are all of them on SQLite. */
function timeCommits(store: Store): () => number {
  const commit = store.commit.bind(store);
  let total = 0;
  store.commit = (batch) => {
    const before = processorUs();
    const done = commit(batch);
    total += processorUs() - before;
    return done;
  };
  return () => total;
}

/** Runs the workflows on a fresh engine and database. */
async function inRound<T>(
  place: BenchStorage,
  workflows: number,
  measure: (store: Store, work: () => Promise<void>) => Promise<T>,
): Promise<T> {
  return await place.inDatabase(async (address) => {
    const storage = await storeAt(address);
    return await onEngine({ ...engineFor(inFlight), storage }, async (engine) => {
      return await measure(storage, () => runMany(engine, oneTaskWorkflow(), workflows));
    });
  });
}

async function timeRound(place: BenchStorage, workflows: number): Promise<Round> {
  return await inRound(place, workflows, async (store, work) => {
    const storeTime = timeCommits(store);
    const before = processorUs();
    await work();
    const storeUs = storeTime();
    return { engineUs: (processorUs() - before - storeUs) / workflows, storeUs: storeUs / workflows };
  });
}

/** Bytes per workflow, sampled, those included that a collection has freed. */
async function allocated(place: BenchStorage, workflows: number): Promise<number> {
  return await inRound(place, workflows, async (_store, work) => {
    const session = new Session();
    session.connect();
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: 4096,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { profile } = await session.post("HeapProfiler.stopSampling");
    session.disconnect();
    let bytes = 0;
    const nodes = [profile.head];
    for (const node of nodes) {
      bytes += node.selfSize;
      nodes.push(...node.children);
    }
    return bytes / workflows;
  });
}

async function measure(
  place: BenchStorage,
  { rounds, workflows }: { rounds: number; workflows: number },
): Promise<void> {
  const times: Round[] = [];
  for (let round = 0; round <= rounds; round++) {
    const measured = await timeRound(place, workflows);
    // The first round compiles.
    if (round > 0) times.push(measured);
  }
  const bytes = await allocated(place, workflows);
  console.log(`engine ${median(times.map(({ engineUs }) => engineUs)).toFixed(1)} µs per workflow`);
  console.log(`store  ${median(times.map(({ storeUs }) => storeUs)).toFixed(1)} µs`);
  console.log(`allocated ${(bytes / 1000).toFixed(1)} KB`);
}

const flags = readFlags(import.meta.url, {
  storage: { type: "string", default: "sqlite" },
  rounds: { type: "string", default: "5" },
  workflows: { type: "string", default: "20000" },
});
const servers = new Servers();
try {
  const { storage } = flags;
  const isServer = storage === "postgresql" || storage === "mysql";
  if (!isServer && storage !== "sqlite") throw new Error(`no storage is called "${storage}"`);
  const place = storageAt(isServer ? await servers.urlOf(storage) : "sqlite:");
  await measure(place, { rounds: Number(flags.rounds), workflows: Number(flags.workflows) });
} finally {
  await servers.stop();
}
