import { isBefore, type JobRun } from "../evidence.ts";
import { type AttemptTrace, attemptOf, traceOf } from "./attempts.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";

/**
 * An attempt runs on a worker only after its start is on record: whoever owns its shard next awaits its result instead of
 * starting it again.
 */
export const checkStarts: Checker = (evidence) => {
  const commitHistory = commitHistoryOf(evidence);
  return evidence.runs.flatMap((run) => {
    if (evidence.lives[run.life - 1]?.role !== "worker") return [];
    const instance = commitHistory.at(run.name.instanceId, run.name.generation);
    const trace = instance && attemptOf(traceOf(instance), run.name);
    if (trace !== undefined && isOnRecord(trace, run)) return [];
    return [`${run.attemptId} ran on life ${run.life} before its start was on record`];
  });
};

/** Whether a start was recorded before the run, and not counted as lost before it. */
function isOnRecord({ started, interrupted }: AttemptTrace, { start }: JobRun): boolean {
  return started.some((at) => {
    return isBefore(at, start) && !interrupted.some((lost) => isBefore(at, lost) && isBefore(lost, start));
  });
}
