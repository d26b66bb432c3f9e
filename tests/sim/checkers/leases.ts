import type { Evidence, JobRun, LifeRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { clocksOf } from "./clocks.ts";

/** Clocks tell whole milliseconds. */
const roundingMs = 2;

/**
 * A member whose lease is over by its own clocks starts nothing, and stops what runs: at once, or, if it stood still when
 * that happened, as soon as it can know.
 */
export const checkLeases: Checker = (evidence) => {
  if (!evidence.setting.isCluster) return [];
  return evidence.runs.flatMap((run) => {
    const life = evidence.lives[run.life - 1];
    if (life === undefined) return [];
    const lapse = clocksOf(evidence).lapseAt(life, run.start.at);
    const lapsedMs = run.start.at - (lapse?.from ?? Infinity);
    if (lapsedMs > roundingMs)
      return [`${run.attemptId} ran on life ${life.number}, whose lease had been over for ${lapsedMs.toFixed(0)} ms`];
    return checkStop(evidence, life, run);
  });
};

function checkStop(evidence: Evidence, life: LifeRecord, run: JobRun): string[] {
  const { beatMs } = evidence.setting.timings;
  const lapsedAt = clocksOf(evidence).lapseAfter(life, run.start.at);
  const stoppedAt = Math.min(run.end?.at ?? Infinity, run.abort?.at ?? Infinity, life.end?.at ?? Infinity);
  // No timer tells that the machine was suspended; the next sign of life does, or what it leads to.
  const noticedAt = awakeAt(life, lapsedAt) + 2 * beatMs;
  if (stoppedAt <= awakeAt(life, noticedAt) + roundingMs) return [];
  const late = (stoppedAt - lapsedAt).toFixed(0);
  return [`${run.attemptId} ran on for ${late} ms after the lease of life ${life.number} was over`];
}

/** That time, or the end of the standstill that it falls into. */
function awakeAt({ freezes }: LifeRecord, at: number): number {
  const freeze = freezes.find(({ from, to }) => from.at <= at && at < (to?.at ?? Infinity));
  return freeze === undefined ? at : (freeze.to?.at ?? Infinity);
}
