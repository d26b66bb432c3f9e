import type { Evidence, JobRun, LifeRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { clocksOf, type Lapse } from "./clocks.ts";

/** Clocks have a resolution of one millisecond. */
const roundingMs = 2;

/**
 * A member whose lease has expired by its own clocks starts nothing and aborts what runs: at once, or as soon as it can
 * know, if it was stalled at that time or only its wall clock shows it.
 *
 * A worker may run an attempt until its lease expires: counted from the last heartbeat that a member answered, if that
 * answer renewed the attempt; not if the owner is undecided, and from earlier if another owner renewed it earlier. The
 * leases of the members themselves do not matter.
 */
export const checkLeases: Checker = (evidence) => {
  return evidence.runs.flatMap((run) => {
    const life = evidence.lives[run.life - 1];
    // An engine alone on its store has no lease; its workers do.
    if (life?.role === "member" && !evidence.setting.isCluster) return [];
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
  const untimedMs = (life.role === "worker" ? workerBeatMs / 4 : beatMs) / life.rate;
  const lookMs = lapse.isTimed ? 0 : untimedMs;
  let noticedAt = awakeAt(life, lapse.from) + lookMs;
  // The rest of the polling interval at the beginning of a stall still has to pass after it, when the next stall may come.
  while (awakeAt(life, noticedAt) !== noticedAt) noticedAt = awakeAt(life, noticedAt) + lookMs;
  const stoppedAt = Math.min(run.end?.at ?? Infinity, run.abort?.at ?? Infinity, life.end?.at ?? Infinity);
  // The lease may be renewed, or the wall clock set back, before the process notices.
  if (stoppedAt <= noticedAt + roundingMs || lapse.to <= noticedAt) return [];
  const late = (stoppedAt - lapse.from).toFixed(0);
  return [`${run.attemptId} ran on for ${late} ms on life ${life.number}, ${whose(life)} was over`];
}

function whose({ role }: LifeRecord): string {
  return role === "worker" ? "whose lease on the attempt" : "whose lease";
}

/** The time, or the end of the stall that contains it. */
function awakeAt({ freezes }: LifeRecord, at: number): number {
  const freeze = freezes.find(({ from, to }) => from.at <= at && at < (to?.at ?? Infinity));
  return freeze === undefined ? at : (freeze.to?.at ?? Infinity);
}
