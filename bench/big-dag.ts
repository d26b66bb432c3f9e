import { join } from "node:path";
import type { BigDagTimes } from "./big-dag-process.ts";
import { CeilingProcess, inChild } from "./child.ts";
import { type Figure, figure, noGoal, type Settings } from "./figure.ts";
import { inFolder } from "./folder.ts";
import type { RecordingCounts } from "./harness.ts";
import { median } from "./statistics.ts";
import type { BenchStorage } from "./storages/bench-storage.ts";

const small = 1000;
const large = 100_000;
const rssMbMax = 1000;

/** A deep layered DAG; µs per node and peak memory, beside a small one of the same width. */
export async function bigDag({ storage, runs, quick }: Settings): Promise<Figure[]> {
  const { times, smallBareMs, largeBareMs, counts } = await measure(storage, runs, quick ? 10 : 30);
  const medianOf = (field: keyof BigDagTimes): number => median(times.map((each) => each[field]));
  const unit = "µs/node";
  const ofSmall = { value: perNode(medianOf("smallMs"), small), ceiling: perNode(median(smallBareMs), small), unit };
  const ofLarge = { value: perNode(medianOf("largeMs"), large), ceiling: perNode(median(largeBareMs), large), unit };
  const ofMemory = { value: medianOf("peakRssMb"), ceiling: rssMbMax, unit: "MB" };
  const toSmall = ofLarge.value / ofSmall.value;
  const buildUs = perNode(medianOf("buildMs"), large);
  return [
    figure("big-dag-small", ofSmall, noGoal, { nodes: small, edges: 2 * small }),
    figure(
      "big-dag",
      ofLarge,
      { target: "≤ 1.5 × small", isMet: () => toSmall <= 1.5 },
      { toSmall, nodes: large, edges: 2 * large, ...counts, buildUs },
    ),
    figure("big-dag-rss", ofMemory, { target: "< 1 GB", isMet: (value) => value < rssMbMax }),
  ];
}

/** In µs. */
function perNode(ms: number, nodes: number): number {
  return (ms / nodes) * 1000;
}

async function measure(storage: BenchStorage, runs: number, warmUps: number) {
  return await inFolder(async (folder) => {
    const { ceiling: smallCeiling } = await recorded(storage, small, join(folder, "small"));
    const { ceiling: largeCeiling, counts } = await recorded(storage, large, join(folder, "large"));
    const times: BigDagTimes[] = [];
    const smallBareMs: number[] = [];
    const largeBareMs: number[] = [];
    await bareMs(smallCeiling);
    for (let run = 0; run < runs; run++) {
      times.push(
        await inChild("big-dag-process.ts", ["measure", storage.place, ...[small, large, warmUps].map(String)]),
      );
      smallBareMs.push(await bareMs(smallCeiling));
      largeBareMs.push(await bareMs(largeCeiling));
    }
    await smallCeiling.close();
    await largeCeiling.close();
    return { times, smallBareMs, largeBareMs, counts };
  });
}

async function recorded(storage: BenchStorage, nodes: number, file: string) {
  const counts = await inChild<RecordingCounts>("big-dag-process.ts", ["record", storage.place, String(nodes), file]);
  return { ceiling: new CeilingProcess(storage, file), counts };
}

async function bareMs(ceiling: CeilingProcess): Promise<number> {
  return (await ceiling.run()).allCommits;
}
