import type { Evidence, JobRun, LifeRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { clocksOf, type Lapse } from "./clocks.ts";

/** Clocks tell whole milliseconds. */
const roundingMs = 2;

/** A call to the store takes at most so long, and a look at the wall clock may have to wait for it. */
const callMs = 4000;

/**
 * A member whose lease is over by its own clocks starts nothing, and stops what runs: at once, or, if it stood still when
 * that happened or its wall clock shows it, as soon as it can know.
 *
 * A worker has no lease. It may run an attempt for as long as its patience since the last sign of life that a member has
 * answered, and that counts for the attempt: not if the member does not know yet whether it is wanted, and from earlier if
 * the member has it from another that it is. The leases of the members themselves do not matter.
 */
export const checkLeases: Checker = (evidence) => {
  if (!evidence.setting.isCluster) return [];
  return evidence.runs.flatMap((run) => {
    const life = evidence.lives[run.life - 1];
    const lapse = life && clocksOf(evidence).nextLapse(life, run);
    if (life === undefined || lapse === undefined) return [];
    const lapsedMs = run.start.at - lapse.from;
    if (lapsedMs > roundingMs)
      return [
        `${run.attemptId} ran on life ${life.number}, ${whose(life)} had been over for ${lapsedMs.toFixed(0)} ms`,
      ];
    return checkStop(evidence, life, run, lapse);
  });
};

function checkStop(evidence: Evidence, life: LifeRecord, run: JobRun, lapse: Lapse): string[] {
  const { beatMs, workerBeatMs } = evidence.setting.timings;
  const untimedMs = life.role === "worker" ? workerBeatMs / 4 / life.rate : 2 * beatMs + callMs;
  const lookMs = lapse.isTimed ? 0 : untimedMs;
  const looksAt = awakeAt(life, lapse.from) + lookMs;
  // What was left of the wait for the next look when it stood still is still to come.
  const noticedAt = awakeAt(life, looksAt) === looksAt ? looksAt : awakeAt(life, looksAt) + lookMs;
  const stoppedAt = Math.min(run.end?.at ?? Infinity, run.abort?.at ?? Infinity, life.end?.at ?? Infinity);
  // It may be renewed, or the wall clock set back, before anybody has noticed.
  if (stoppedAt <= noticedAt + roundingMs || lapse.to <= noticedAt) return [];
  const late = (stoppedAt - lapse.from).toFixed(0);
  return [`${run.attemptId} ran on for ${late} ms on life ${life.number}, ${whose(life)} was over`];
}

function whose({ role }: LifeRecord): string {
  return role === "worker" ? "whose patience" : "whose lease";
}

/** That time, or the end of the standstill that it falls into. */
function awakeAt({ freezes }: LifeRecord, at: number): number {
  const freeze = freezes.find(({ from, to }) => from.at <= at && at < (to?.at ?? Infinity));
  return freeze === undefined ? at : (freeze.to?.at ?? Infinity);
}
