import { shardOfKey } from "../../../src/stores/instance-key.ts";
import { type Evidence, isBefore, type JobRun, type LifeRecord, type Moment } from "../evidence.ts";
import { attemptOf, traceOf } from "./attempts.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";
import { clocksOf, isEarlier, overAt } from "./clocks.ts";

/** Clocks have a resolution of one millisecond. */
const roundingMs = 2;

/**
 * An attempt runs again only if it was lost: never twice at the same time, and never after it ended in a process that
 * stayed alive and kept its lease, wherever its shard moved meanwhile.
 *
 * An attempt on a worker is lost only if the worker's process ended, or if its lease expired because no member renewed
 * it, while it ran or since. Whatever happens to the members that the worker was connected to, the result is awaited
 * and the attempt does not count as lost. A result that a worker announces to another member is renewed only when that
 * member has found the attempt's owner, which may be too late; but once the result is acknowledged, the attempt does
 * not run again, unless it was counted as lost before.
 */
export const checkExecutions: Checker = (evidence) => {
  const wrong: string[] = checkLosses(evidence);
  for (const [, runs] of Map.groupBy(evidence.runs, (run) => run.attemptId)) {
    for (const [place, again] of runs.entries()) {
      const first = runs[place - 1];
      if (first !== undefined) wrong.push(...compare(evidence, first, again));
    }
  }
  return wrong;
};

function compare(evidence: Evidence, first: JobRun, again: JobRun): string[] {
  const { attemptId, end } = first;
  if (isEarlier(again.start, overAt(first, evidence)))
    return [`${attemptId} ran on life ${again.life} while it ran on life ${first.life}`];
  if (end === undefined || end.how === "aborted") return [];
  if (isDropped(evidence, first, again))
    return [`${attemptId} had ${end.how} on life ${first.life}, whose result was acknowledged, and ran again`];
  if (isLost(evidence, first, again.start)) return [];
  return [`${attemptId} had ${end.how} on life ${first.life}, which lives, and ran again`];
}

/** Whether its result was acknowledged while it was wanted. */
function isDropped(evidence: Evidence, { name, start, acknowledged }: JobRun, again: JobRun): boolean {
  if (acknowledged === undefined || isBefore(again.start, acknowledged)) return false;
  const instance = commitHistoryOf(evidence).at(name.instanceId, name.generation);
  const trace = instance && attemptOf(traceOf(instance), name);
  return trace?.interrupted.some((at) => isBefore(start, at) && isBefore(at, acknowledged)) !== true;
}

/** No attempt on a worker counts as interrupted that was not. */
function checkLosses(evidence: Evidence): string[] {
  const byAttempt = Map.groupBy(evidence.runs, ({ attemptId }) => attemptId);
  return [...commitHistoryOf(evidence).instances.values()].flatMap((instance) =>
    [...traceOf(instance).attempts.values()].flatMap(({ task, attempt, generation, interrupted }) => {
      const attemptId = `${instance.id}:${generation}:${task}:${attempt}`;
      return interrupted.flatMap((at) => {
        const run = byAttempt.get(attemptId)?.findLast(({ start }) => isBefore(start, at));
        const life = run && evidence.lives[run.life - 1];
        if (run === undefined || life?.role !== "worker" || isLost(evidence, run, at)) return [];
        if (run.abort !== undefined && wasRightToStop(evidence, life, run)) return [];
        return [`${attemptId} was counted as interrupted, and life ${life.number} had it and its lease was renewed`];
      });
    }),
  );
}

/** Its timeout had passed, and its member ended before that was durable; or its lease had expired by its member's clock. */
function wasRightToStop(evidence: Evidence, life: LifeRecord, run: JobRun): boolean {
  return run.params["timeoutMs"] !== undefined || clocksOf(evidence).isGivenUp(life, run, run.abort?.at ?? Infinity);
}

/** The process that knew its end crashed, or lost its lease or the shard before it could report it. */
function isLost(evidence: Evidence, first: JobRun, again: Moment): boolean {
  const life = evidence.lives[first.life - 1];
  if (life === undefined || endedUnreported(evidence, life, first, again)) return true;
  if (!evidence.setting.isCluster && life.role !== "worker") return false;
  const lapsesAt = clocksOf(evidence).lapseOf(life, { ...first, ...answersThatCount(evidence, life, first, again) });
  return lapsesAt < again.at + roundingMs || wasFenced(evidence, first, again);
}

/**
 * A member answers a worker also while it cannot reach the owner with the worker's result, which takes the store if there
 * is no bus. Answers after the end of the run do not count then.
 */
function answersThatCount(
  evidence: Evidence,
  worker: LifeRecord,
  { end }: JobRun,
  again: Moment,
): { answersUntil?: number } {
  if (end === undefined) return {};
  const answers = worker.workerRenewals.filter(({ knownAt }) => knownAt > end.at && knownAt < again.at);
  const members = answers.flatMap(({ member }) => evidence.lives[member - 1] ?? []);
  return members.some((member) => storeFailed(evidence, member, end.at, again.at)) ? { answersUntil: end.at } : {};
}

/**
 * Its process ended before it could report it. A member that is stopped delivers its reports first, unless nobody takes
 * them within the grace period, or the store fails meanwhile; what ends after the request to stop is not reported.
 */
function endedUnreported(evidence: Evidence, life: LifeRecord, run: JobRun, again: Moment): boolean {
  const { stopping, end } = life;
  const hasEnded = (end?.at ?? Infinity) < again.at;
  if (life.role === "worker" || stopping === undefined) return hasEnded;
  const graceMs = evidence.setting.stopGraceMs / life.rate;
  if (Math.min(end?.at ?? Infinity, again.at) + roundingMs >= stopping.at + graceMs) return true;
  if (!hasEnded || end?.how !== "stopped" || run.end === undefined || run.end.at >= stopping.at) return hasEnded;
  return storeFailed(evidence, life, run.end.at, end.at);
}

/** The process could not reach the store at some time in that period, or may have found it slow or failing at any time. */
function storeFailed({ setting, storeOutages }: Evidence, { machine }: LifeRecord, from: number, to: number): boolean {
  const overlaps = storeOutages.some((outage) => outage.machine === machine && outage.from < to && outage.to > from);
  return setting.isStoreRough === true || overlaps;
}

/** A delayed claim of its own took the shard away from it. Attempts on workers keep running for the new owner. */
function wasFenced(evidence: Evidence, first: JobRun, again: Moment): boolean {
  const { instanceId, generation } = first.name;
  const instance = commitHistoryOf(evidence).at(instanceId, generation);
  if (instance === undefined) return false;
  const claims = evidence.claims.filter(({ shard }) => shard === shardOfKey(instance.key));
  return claims.some(({ claim, order }, place) => {
    const before = claims[place - 1];
    return !claim.released && before?.life === first.life && order > first.start.order && order < again.order;
  });
}
