import { join } from "node:path";
import { storage as storeAt } from "../src/storage.ts";
import type { BareTimes } from "./ceiling.ts";
import { CeilingProcess, inChild } from "./child.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { inFolder } from "./folder.ts";
import type { RecoverTimes } from "./recover-process.ts";
import { median } from "./statistics.ts";
import type { BenchStorage } from "./storages/bench-storage.ts";

const instances = 20_000;
const secondsMax = 5;

/** A process was killed with all these instances at work; s until all run again. The worse of the two ways to stop. */
export async function recover({ storage, runs }: Settings): Promise<Figure[]> {
  const { engine, bare } = await storage.inDatabase(async (killed) => await measure(storage, killed, runs));
  const bareMs = bare.map(({ open, reads, allCommits }) => open + reads + allCommits);
  const measured = { value: median(engine.map(({ ms }) => ms)) / 1000, ceiling: median(bareMs) / 1000, unit: "s" };
  const goal = { target: `< ${secondsMax} s`, isMet: (value: number) => value < secondsMax };
  const notes = {
    instances,
    commits: bare[0]?.commits.length ?? 0,
    startSeconds: median(engine.map(({ startMs }) => startMs)) / 1000,
    peakRssMb: median(engine.map(({ peakRssMb }) => peakRssMb)),
  };
  return [figure("recover", measured, goal, notes)];
}

async function measure(
  storage: BenchStorage,
  killed: string,
  runs: number,
): Promise<{ engine: RecoverTimes[]; bare: BareTimes[] }> {
  await inChild("recover-process.ts", ["prepare", killed, String(instances)]);
  await removeMembers(killed);
  const recoverCopy = async (...recordingFile: string[]): Promise<RecoverTimes> => {
    const args = [String(instances), ...recordingFile];
    return await storage.inDatabase((copy) => inChild("recover-process.ts", ["recover", copy, ...args]), killed);
  };
  return await inFolder(async (folder) => {
    const recording = join(folder, "recording");
    await recoverCopy(recording);
    const ceiling = new CeilingProcess(storage, recording, killed);
    const engine: RecoverTimes[] = [];
    const bare: BareTimes[] = [];
    for (let run = 0; run < runs; run++) {
      engine.push(await recoverCopy());
      bare.push(await ceiling.run());
    }
    await ceiling.close();
    return { engine, bare };
  });
}

/** What is measured begins when the dead member's lease is over. An embedded store has none, and is left untouched. */
async function removeMembers(address: string): Promise<void> {
  const store = await storeAt(address);
  if (store.clusters !== "always") return;
  await store.open();
  const { members } = await store.heartbeat("nobody");
  for (const { id } of members) await store.removeMember(id);
  await store.close();
}
