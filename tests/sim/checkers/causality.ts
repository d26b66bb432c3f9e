import { shardOfKey } from "../../../src/stores/instance-key.ts";
import { type Evidence, isBefore, type JobRun } from "../evidence.ts";
import { attemptOf, type AttemptTrace, type Trace, traceOf } from "./attempts.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, type InstanceCommits } from "./commit-history.ts";
import { isOfCode } from "./replay.ts";

/**
 * I3, I4: compares the runs of jobs with the histories. No job runs before its cause is durable, again after its end is
 * durable, or while its instance is paused; every recorded success happened.
 *
 * A grant may be in flight to a worker when its attempt times out. The job may start then, for as long as the member
 * would wait for the worker; its result is not wanted.
 */
export const checkCausality: Checker = (evidence) => {
  const commitHistory = commitHistoryOf(evidence);
  const wrong: string[] = [];
  const byAttempt = Map.groupBy(evidence.runs, ({ attemptId }) => attemptId);
  for (const instance of commitHistory.instances.values()) {
    const trace = traceOf(instance);
    wrong.push(...trace.violations);
    wrong.push(...checkSuccesses(instance, trace, byAttempt));
  }
  for (const run of evidence.runs) {
    const instance = commitHistory.at(run.name.instanceId, run.name.generation);
    if (instance === undefined) wrong.push(`${run.attemptId} ran, and no history knows its instance`);
    else if (!isLateGrant(evidence, run, traceOf(instance)))
      wrong.push(...checkRun(run, traceOf(instance), pausesOf(evidence, instance, run)));
  }
  return [...wrong, ...checkTerminated(evidence)];
};

function isLateGrant({ lives, setting }: Evidence, { name, life, start }: JobRun, trace: Trace): boolean {
  const end = attemptOf(trace, name)?.end;
  if (lives[life - 1]?.role !== "worker" || end?.how !== "timed out") return false;
  return isBefore(end, start) && start.at < end.at + setting.timings.workerLostMs;
}

/**
 * The periods in which no job of the instance may start. Code is paused at once, and attempts with the dispatcher are
 * withdrawn before the pause is acknowledged. A grant that is in flight to a worker, or to
 * another member than the owner, may start a job for as long as the owner would wait for it.
 */
function pausesOf(evidence: Evidence, instance: InstanceCommits, run: JobRun): Trace["pauses"] {
  const { pauses } = traceOf(instance);
  if (!isOfCode(evidence.finalState, instance)) return pauses;
  const graceMs = wasGranted(evidence, instance, run) ? evidence.setting.timings.workerLostMs : 0;
  const told = evidence.calls.filter(
    ({ operation, outcome, instanceId }) => operation === "pause" && outcome === "ok" && instanceId === instance.id,
  );
  return pauses.flatMap(({ from, to }) =>
    told.flatMap(({ answered }) =>
      answered !== undefined &&
      isBefore(from, answered) &&
      (to === undefined || isBefore(answered, to)) &&
      run.start.at >= answered.at + graceMs
        ? [{ from: answered, to }]
        : [],
    ),
  );
}

/** Whether it came to its process by message. */
function wasGranted({ lives, claims }: Evidence, { key }: InstanceCommits, { life, start }: JobRun): boolean {
  const owner = claims.findLast((claim) => claim.shard === shardOfKey(key) && isBefore(claim, start))?.life;
  return lives[life - 1]?.role === "worker" || (owner !== undefined && owner !== life);
}

function checkRun({ attemptId, name, start }: JobRun, trace: Trace, pauses: Trace["pauses"]): string[] {
  const attempt = attemptOf(trace, name);
  if (attempt === undefined) return [`${attemptId} ran, and its history does not know of it`];
  const wrong: string[] = [];
  if (isBefore(start, attempt.scheduled)) wrong.push(`${attemptId} ran before its scheduling was durable`);
  if (attempt.end !== undefined && isBefore(attempt.end, start))
    wrong.push(`${attemptId} ran ${(start.at - attempt.end.at).toFixed(0)} ms after it had ${attempt.end.how}`);
  const success = successOf(trace, attempt);
  if (success !== undefined && isBefore(success, start)) wrong.push(`${attemptId} ran after its task had succeeded`);
  const isPaused = pauses.some(({ from, to }) => isBefore(from, start) && (to === undefined || isBefore(start, to)));
  if (isPaused) wrong.push(`${attemptId} ran while its instance was paused`);
  return wrong;
}

/** The success of any attempt of the task in the same generation. */
function successOf(trace: Trace, { task, generation }: AttemptTrace): AttemptTrace["end"] {
  for (const attempt of trace.attempts.values()) {
    if (attempt.task === task && attempt.generation === generation && attempt.end?.how === "succeeded")
      return attempt.end;
  }
  return undefined;
}

function checkSuccesses({ id }: InstanceCommits, trace: Trace, runs: ReadonlyMap<string, readonly JobRun[]>): string[] {
  const wrong: string[] = [];
  for (const { task, attempt, generation, end } of trace.attempts.values()) {
    if (end?.how !== "succeeded" || end.worker === undefined) continue;
    const attemptId = `${id}:${generation}:${task}:${attempt}`;
    const done = (runs.get(attemptId) ?? []).some((run) => run.end?.how === "done" && isBefore(run.end, end));
    if (!done) wrong.push(`${attemptId} is recorded as a success that never happened`);
  }
  return wrong;
}

/** After a terminate is acknowledged no job of the instance starts, except with a host that has not been notified yet. */
function checkTerminated({ calls, runs, lives, setting }: Evidence): string[] {
  const graceMs = ({ life }: JobRun): number =>
    setting.isCluster || lives[life - 1]?.role === "worker" ? setting.timings.workerLostMs : 0;
  return calls.flatMap(({ operation, outcome, answered, instanceId }) => {
    if (operation !== "terminate" || outcome !== "ok" || answered === undefined) return [];
    const resubmitted = calls.find(
      (call) => call.operation === "submit" && call.instanceId === instanceId && isBefore(answered, call.invoked),
    );
    const late = runs.filter(
      (run) =>
        run.name.instanceId === instanceId &&
        isBefore(answered, run.start) &&
        run.start.at >= answered.at + graceMs(run) &&
        !(resubmitted !== undefined && isBefore(resubmitted.invoked, run.start)),
    );
    return late.map(({ attemptId }) => `${attemptId} ran after its instance was said to be terminated`);
  });
}
