import { inChild } from "./child.ts";
import { type Figure, figure, noGoal, type Settings } from "./figure.ts";
import type { SleepersMeasured } from "./sleepers-process.ts";

const bytesMax = 1000;

/** Many code workflows asleep: bytes of memory each once they have left it; and how long it takes when all wake at once. */
export async function sleepers({ storage, quick }: Settings): Promise<Figure[]> {
  const count = quick ? 10_000 : 100_000;
  const measured = await inChild<SleepersMeasured>("sleepers-process.ts", [storage.place, String(count)]);
  const { bytesEach, drainMs, othersP50Ms, othersP99Ms } = measured;
  const ofMemory = { value: bytesEach, ceiling: bytesMax, unit: "bytes" };
  const ofDrain = { value: (drainMs / count) * 1000, ceiling: othersP50Ms * 1000, unit: "µs/sleeper" };
  return [
    figure("sleepers", ofMemory, { target: "< 1 kB each", isMet: (value) => value < bytesMax }, { sleepers: count }),
    figure("sleepers-due", ofDrain, noGoal, { drainMs, othersP50Ms, othersP99Ms }),
  ];
}
