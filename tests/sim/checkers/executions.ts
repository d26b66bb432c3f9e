import { shardOfKey } from "../../../src/stores/instance-key.ts";
import { type Evidence, isBefore, type JobRun, type LifeRecord, type Moment } from "../evidence.ts";
import { attemptOf, traceOf } from "./attempts.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";
import { clocksOf, isEarlier, overAt } from "./clocks.ts";

/** Clocks tell whole milliseconds. */
const roundingMs = 2;

/**
 * An attempt runs again only when it was lost: never beside itself, and never after it came to its own end on a process
 * that went on living and kept its lease, wherever its shard had moved meanwhile.
 *
 * A worker has no lease. There an attempt is lost only if the worker's process ended, or if no member has answered for it
 * to any sign of life for as long as the worker's patience: while it ran, or since. Whatever became of the members that
 * the worker was connected to, its result is waited for, and it is not counted as lost. A result that a worker brings to
 * another member is not answered for before that one has found the attempt's owner, which may be too late; but if the
 * worker has been told that its result need not be kept, the attempt does not run again, whatever has happened since,
 * unless it was counted as lost before.
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

/** Its result was acknowledged while it was wanted. */
function isDropped(evidence: Evidence, { name, start, acknowledged }: JobRun, again: JobRun): boolean {
  if (acknowledged === undefined || isBefore(again.start, acknowledged)) return false;
  const instance = commitHistoryOf(evidence).at(name.instanceId, name.generation);
  const trace = instance && attemptOf(traceOf(instance), name);
  return trace?.interrupted.some((at) => isBefore(start, at) && isBefore(at, acknowledged)) !== true;
}

/** Nothing on a worker is counted as interrupted that was not. */
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
        return [`${attemptId} was counted as interrupted, and life ${life.number} had it and was vouched for`];
      });
    }),
  );
}

/** Its time was out, and its member died before that was durable; or no owner had vouched for it, by its member's clock. */
function wasRightToStop(evidence: Evidence, life: LifeRecord, run: JobRun): boolean {
  return run.params["timeoutMs"] !== undefined || clocksOf(evidence).isGivenUp(life, run, run.abort?.at ?? Infinity);
}

/** The process that knew how it ended died, or lost its lease or the shard before it could say so. */
function isLost(evidence: Evidence, first: JobRun, again: Moment): boolean {
  const life = evidence.lives[first.life - 1];
  if (life === undefined) return true;
  if ((life.end?.at ?? Infinity) < again.at) return true;
  if (!evidence.setting.isCluster) return false;
  return clocksOf(evidence).lapseOf(life, first) < again.at + roundingMs || wasFenced(evidence, first, again);
}

/** A claim of its own that came late took the shard from under it. What a worker runs goes on for the new owner. */
function wasFenced(evidence: Evidence, first: JobRun, again: Moment): boolean {
  const { instanceId, generation } = first.name;
  const instance = commitHistoryOf(evidence).at(instanceId, generation);
  if (instance === undefined) return false;
  const claims = evidence.claims.filter(({ shard }) => shard === shardOfKey(instance.key));
  return claims.some(({ claim, order }, place) => {
    const before = claims[place - 1];
    return !claim.clean && before?.life === first.life && order > first.start.order && order < again.order;
  });
}
