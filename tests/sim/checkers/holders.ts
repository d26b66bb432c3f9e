import { shardOfKey } from "../../../src/stores/instance-key.ts";
import type { Evidence, JobRun } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { chronicleOf } from "./chronicle.ts";
import { clocksOf, isEarlier, overAt } from "./clocks.ts";

/**
 * An attempt runs again only when it was lost: never beside itself, and never after it came to its own end on a process
 * that went on living and kept its lease, wherever its shard had moved meanwhile.
 */
export const checkHolders: Checker = (evidence) => {
  const wrong: string[] = [];
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
  if (end === undefined || end.how === "aborted" || isLost(evidence, first, again)) return [];
  return [`${attemptId} had ${end.how} on life ${first.life}, which lives, and ran again`];
}

/** The process that knew how it ended died, or lost its lease or the shard before it could say so. */
function isLost(evidence: Evidence, first: JobRun, again: JobRun): boolean {
  const life = evidence.lives[first.life - 1];
  if (life === undefined) return true;
  if ((life.end?.at ?? Infinity) < again.start.at) return true;
  if (!evidence.setting.isCluster) return false;
  return clocksOf(evidence).lapseAfter(life, first.start.at) < again.start.at || wasFenced(evidence, first, again);
}

/** A claim of its own that came late took the shard from under it. */
function wasFenced(evidence: Evidence, first: JobRun, again: JobRun): boolean {
  const { instanceId, generation } = first.name;
  const instance = chronicleOf(evidence).at(instanceId, generation);
  if (instance === undefined) return false;
  const claims = evidence.claims.filter(({ shard }) => shard === shardOfKey(instance.key));
  return claims.some(({ claim, order }, place) => {
    const before = claims[place - 1];
    return !claim.clean && before?.life === first.life && order > first.start.order && order < again.start.order;
  });
}
