import { join } from "node:path";
import type { BareTimes } from "./ceiling.ts";
import { CeilingProcess, inChild } from "./child.ts";
import { type Figure, figure, type Settings } from "./figure.ts";
import { copyDatabase, inFolder } from "./folder.ts";
import type { RecoverTimes } from "./recover-process.ts";
import { median, sum } from "./statistics.ts";

const instances = 20_000;
const secondsMax = 5;

/** A process was killed with all these instances at work; s until all run again. The worse of the two ways to stop. */
export async function recover({ runs }: Settings): Promise<Figure[]> {
  const { engine, bare } = await inFolder(async (folder) => await measure(folder, runs));
  const bareMs = bare.map((times) => times.open + times.reads + sum(times.commits));
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

async function measure(folder: string, runs: number): Promise<{ engine: RecoverTimes[]; bare: BareTimes[] }> {
  const killed = join(folder, "killed.db");
  await inChild("recover-process.ts", ["prepare", killed, String(instances)]);

  const recording = join(folder, "recording");
  await recoverCopy(killed, recording);
  const ceiling = new CeilingProcess(recording, killed);
  const engine: RecoverTimes[] = [];
  const bare: BareTimes[] = [];
  for (let run = 0; run < runs; run++) {
    engine.push(await recoverCopy(killed));
    bare.push(await ceiling.run());
  }
  await ceiling.close();
  return { engine, bare };
}

async function recoverCopy(killed: string, ...recordingFile: string[]): Promise<RecoverTimes> {
  return await inFolder(async (folder) => {
    const file = join(folder, "bench.db");
    copyDatabase(killed, file);
    return await inChild("recover-process.ts", ["recover", file, String(instances), ...recordingFile]);
  });
}
