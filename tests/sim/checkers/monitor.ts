import { namespaceOf } from "../../../src/base/namespace.ts";
import { type ClientCall, type Evidence, isBefore, type JobRun, type LifeRecord, type Moment } from "../evidence.ts";
import type { MonitorAnswer } from "../monitor.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, eventsOf } from "./commit-history.ts";

/** Time in which a member that is not cut off from the store hears of an end, and stops what ran. */
const stopMs = 5000;

/**
 * An answer about the queues of the whole cluster has each task once; it has every task that ran on a member the whole
 * time, unless it names a member that did not answer; and none whose instance had ended long before.
 */
export const checkMonitor: Checker = (evidence) =>
  evidence.calls.flatMap((call) => {
    if (call.operation !== "queue" || call.outcome !== "ok" || call.answered === undefined) return [];
    const answer = call.value as MonitorAnswer;
    const wrong = [...checkRepeats(answer), ...checkEnds(evidence, call, answer)];
    if (answer.state === "running" && answer.unanswered.length === 0) wrong.push(...checkRuns(evidence, call, answer));
    return wrong.map((what) => `queue, call ${call.number}, ${what}`);
  });

const placeOf = ({ instanceId, task }: { instanceId: string; task: number }): string => `task ${task} of ${instanceId}`;

function checkRepeats({ tasks }: MonitorAnswer): string[] {
  const seen = new Set<string>();
  return tasks.map(placeOf).flatMap((place) => {
    if (seen.has(place)) return [`has ${place} twice`];
    seen.add(place);
    return [];
  });
}

/** A former owner may answer as long as its lease lasts, and a worker may run as long as its own. */
function checkEnds(evidence: Evidence, { invoked, answered = invoked }: ClientCall, answer: MonitorAnswer): string[] {
  const { state, tasks } = answer;
  const { suspectMs, lostMs, workerLostMs } = evidence.setting.timings;
  const graceMs = suspectMs + lostMs + stopMs + (state === "running" ? workerLostMs : 0);
  const history = commitHistoryOf(evidence);
  return tasks.flatMap((task) => {
    const events = history.livesOf(task.instanceId).flatMap((instance) => eventsOf(instance));
    // An instance that was reopened meanwhile has tasks again.
    const last = events.findLast(({ landed }) => isBefore(landed, answered));
    if (last?.event.type !== "InstanceEnded" || last.landed.at > invoked.at - graceMs) return [];
    return [`has ${placeOf(task)}, which had ended at ${last.landed.at.toFixed(0)}, as ${state}`];
  });
}

function checkRuns(evidence: Evidence, call: ClientCall, { tasks }: MonitorAnswer): string[] {
  const { invoked, answered, life, namespace } = call;
  const asked = evidence.lives[life - 1];
  if (answered === undefined || asked === undefined) return [];
  const listed = new Set(tasks.map(placeOf));
  return evidence.runs.flatMap((run) => {
    if (namespaceOf(run.name.instanceId) !== namespace || listed.has(placeOf(run.name))) return [];
    if (!isBefore(run.start, invoked) || !isUnderWay(run, answered)) return [];
    const host = evidence.lives[run.life - 1];
    if (host?.role !== "member" || host.stopping !== undefined || host.end !== undefined) return [];
    const areWell = host === asked || [host, asked].every((each) => isWell(evidence, each, call));
    return areWell ? [`does not have ${placeOf(run.name)}, which ran in life ${host.number}`] : [];
  });
}

function isUnderWay({ abort, end }: JobRun, until: Moment): boolean {
  return [abort, end].every((moment) => moment === undefined || isBefore(until, moment));
}

/** Whether it was a member all the time, and could read and write the store. */
function isWell({ setting, storeOutages }: Evidence, life: LifeRecord, { invoked, answered }: ClientCall): boolean {
  const { suspectMs, lostMs, beatMs } = setting.timings;
  const from = invoked.at - (suspectMs + lostMs + stopMs + 2 * beatMs);
  const to = answered?.at ?? Infinity;
  if (setting.isStoreRough === true || (life.up?.at ?? Infinity) > from) return false;
  const isFrozen = life.freezes.some((freeze) => freeze.from.at < to && (freeze.to?.at ?? Infinity) > from);
  const isCutOff = storeOutages.some((each) => each.machine === life.machine && each.from < to && each.to > from);
  return !isFrozen && !isCutOff;
}
