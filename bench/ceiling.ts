import type { Batch, Fence } from "../src/stores/store.ts";
import type { Recording } from "./recording.ts";
import type { BareDriver, BenchStorage } from "./storages/bench-storage.ts";

/** All in ms. */
export interface BareTimes {
  /** Opening the database, which may have a log to recover, and claiming the shards. */
  readonly open: number;
  readonly reads: number;
  /** Each commit. */
  readonly commits: number[];
  /** All of them. Those that the engine had under way at once are so here. */
  readonly allCommits: number;
}

interface Ready {
  readonly send: () => unknown;
  readonly ended: readonly number[];
}

/**
 * The bare ceiling: what an engine's commits carried, with the same values in the same transactions, straight to the
 * driver, on a database with the same schema and settings. What can be made ready is, so that only the driver is timed.
 */
export async function runBare(storage: BenchStorage, address: string, recording: Recording): Promise<BareTimes> {
  const { shards, before, commits, atOnce } = recording;
  const start = performance.now();
  const driver = await storage.openDriver(address, { shards, atOnce });
  const open = performance.now() - start;

  const ready = ({ fences, changes }: Batch): (() => unknown) =>
    driver.readyCommit({ changes, fences: fences.map((fence) => withEpochOf(driver, fence)) });
  for (const batch of before) await ready(batch)();
  const reads = recording.reads.map((read) => driver.readyRead(read));
  const writes = commits.map(({ batch, ended }): Ready => ({ send: ready(batch), ended }));
  const times = { open, reads: await timeReads(reads), ...(await timeCommits(writes)) };
  await checkLanded(driver, lastNumbers([...before, ...commits.map(({ batch }) => batch)]));
  await driver.close();
  return times;
}

/** Epochs follow the clock, so a replay has others than the engine had. */
function withEpochOf({ epochs }: BareDriver, fence: Fence): Fence {
  return { ...fence, epoch: epochs.get(fence.shard) ?? 0 };
}

async function timeReads(reads: readonly (() => unknown)[]): Promise<number> {
  const start = performance.now();
  for (const read of reads) await read();
  return performance.now() - start;
}

/** Each begins when those have ended that the engine had seen end before it. */
async function timeCommits(commits: readonly Ready[]): Promise<Pick<BareTimes, "commits" | "allCommits">> {
  const times: Promise<number>[] = [];
  const start = performance.now();
  for (const { send, ended } of commits) {
    for (const number of ended) await times[number];
    times.push(timeOf(send));
  }
  return { commits: await Promise.all(times), allCommits: performance.now() - start };
}

async function timeOf(send: () => unknown): Promise<number> {
  const start = performance.now();
  await send();
  return performance.now() - start;
}

/** By shard, the number of the last batch that concerns it. */
function lastNumbers(batches: readonly Batch[]): Map<number, number> {
  return new Map(batches.flatMap(({ fences }) => fences.map(({ shard, number }) => [shard, number])));
}

/** A commit whose fence did not hold is over sooner, or writes its rows all the same; so a wrong replay is found out. */
async function checkLanded(driver: BareDriver, expected: ReadonlyMap<number, number>): Promise<void> {
  for (const [shard, number] of expected) {
    const batch = await driver.lastBatch(shard);
    if (batch !== number) throw new Error(`shard ${shard} has batch ${batch} after the bare commits, not ${number}`);
  }
}
