import { firstItemNumber } from "../../../src/kernel/dag/map-items.ts";
import { epochMs } from "../clock.ts";
import { type ClientCall, type Evidence, isBefore, type JobRun, type Moment } from "../evidence.ts";
import { attemptOf, traceOf } from "./attempts.ts";
import type { Checker } from "./checker.ts";
import { birthOf, commitHistoryOf, eventsOf } from "./commit-history.ts";
import { clocksOf, isEarlier, overAt } from "./clocks.ts";
import { checkWorkflowLimit } from "./workflow-limit.ts";

/**
 * I7: at every start of a job, its domain is within its size over all members and workers, its process within its pool,
 * or a worker within its slots, and its instance within its concurrency. What runs when a limit is lowered may
 * continue.
 *
 * An abort reaches a worker by message. Until the worker has stopped the attempt, it keeps its slot in the domain; but
 * its instance continues when the end is durable.
 */
export const checkLimits: Checker = (evidence) => {
  const wrong: string[] = [];
  const running = new Set<{ run: JobRun; over: Moment }>();
  for (const run of evidence.runs) {
    for (const other of running) if (isEarlier(other.over, run.start)) running.delete(other);
    running.add({ run, over: overAt(run, evidence) });
    wrong.push(
      ...checkStart(
        evidence,
        run,
        [...running].map(({ run: other }) => other),
      ),
    );
  }
  return [...wrong, ...checkWorkflowLimit(evidence)];
};

function checkStart(evidence: Evidence, run: JobRun, running: readonly JobRun[]): string[] {
  const { domain } = run.params;
  const wrong: string[] = [];
  const check = (what: string, count: number, limit: number): void => {
    if (count > limit) wrong.push(`${run.attemptId} was started as number ${count} of ${limit} ${what}`);
  };
  const count = (isAlike: (other: JobRun) => boolean): number => running.filter(isAlike).length;
  if (typeof domain === "string") {
    const alike = count(({ params }) => params["domain"] === domain);
    check(`in domain ${domain}`, alike, domainSize(evidence, domain, run));
  }
  check(
    "in its process",
    count(({ life }) => life === run.life),
    evidence.lives[run.life - 1]?.role === "worker" ? evidence.setting.workerSlots : evidence.setting.poolSize,
  );
  const { instanceId, task } = run.name;
  // The limit of items is that of their map: `checkItems`.
  if (task >= firstItemNumber) return wrong;
  const ofInstance = count(
    ({ name, ...other }) =>
      name.instanceId === instanceId && name.task < firstItemNumber && !isOnlyToStop(evidence, { name, ...other }, run),
  );
  check("of its instance", ofInstance, concurrencyOf(evidence, run));
  return wrong;
}

/** Whether it runs on a worker, or with a host after its shard moved, which may not know yet that the attempt has ended. */
function isOnlyToStop(evidence: Evidence, { name, life }: JobRun, next: JobRun): boolean {
  const instance = commitHistoryOf(evidence).at(name.instanceId, name.generation);
  const isElsewhere = evidence.lives[life - 1]?.role === "worker" || life !== next.life;
  if (instance === undefined || !isElsewhere) return false;
  const trace = traceOf(instance);
  // A cancel aborts tasks of an instance that continues with its compensations.
  const stopped = eventsOf(instance).find(
    ({ event, generation }) =>
      generation === name.generation && event.type === "TasksStopped" && event.tasks.includes(name.task),
  );
  const end =
    attemptOf(trace, name)?.end ??
    stopped?.landed ??
    trace.stretches.find(({ generation }) => generation === name.generation)?.to;
  return end !== undefined && isBefore(end, next.start);
}

/**
 * The limit of a domain at a start. In a single engine a new size applies from the call on, and is forgotten with the
 * process. In a cluster it is durable, and applies when all members know it; until then the larger of the two does. An
 * attempt may take a while from its slot to its job's start, so the largest size in between counts.
 */
function domainSize(evidence: Evidence, domain: string, run: JobRun): number {
  const { calls, setting } = evidence;
  const slotAt = slotTakenAt(evidence, run);
  const resizes = calls.filter(
    (call) =>
      call.operation === "resize" &&
      call.given["domain"] === domain &&
      isBefore(call.invoked, run.start) &&
      (setting.isCluster ? call.outcome !== "refused" : call.life === engineOf(evidence, run) && call.outcome === "ok"),
  );
  const holds = resizes.filter((call) => settledAt(call, setting) < slotAt);
  // Of two concurrent calls either may be the last; and one whose answer was lost may apply at any time.
  const open = resizes.filter(({ answered, outcome }) => {
    if (outcome !== "ok" || answered === undefined) return true;
    return !holds.some(({ invoked }) => isBefore(answered, invoked));
  });
  const first = holds.length === 0 ? [setting.domains[domain] ?? Infinity] : [];
  return Math.max(...first, ...open.map(({ given }) => Number(given["size"])));
}

/** The life of the single engine that granted the run to a worker, or ran it itself. */
function engineOf({ lives }: Evidence, { life, start }: JobRun): number {
  if (lives[life - 1]?.role !== "worker") return life;
  return lives.findLast(({ role, born }) => role === "member" && born.at <= start.at)?.number ?? 0;
}

/** The time of its slot, from the history and the machine's clock; otherwise the time at which it was scheduled. */
function slotTakenAt(evidence: Evidence, { name, life, start }: JobRun): number {
  const instance = commitHistoryOf(evidence).at(name.instanceId, name.generation);
  const record = evidence.lives[life - 1];
  if (instance === undefined || record === undefined) return start.at;
  const engineMachine = evidence.lives.find(({ role }) => role === "member")?.machine;
  const noted = eventsOf(instance).flatMap(({ event, generation }) => {
    if (!("startedAt" in event) || event.task !== name.task || event.attempt !== name.attempt) return [];
    if (generation !== name.generation) return [];
    // The clock is that of the member that granted it; ids of members of a cluster begin with the machine's name.
    const granter = evidence.setting.isCluster ? event.worker?.split(":")[0] : engineMachine;
    const machine = record.role === "worker" ? granter : record.machine;
    const offset = clocksOf(evidence).offsetAt(machine ?? "", start.at);
    const at = event.startedAt === undefined ? Infinity : event.startedAt - epochMs - offset;
    return at <= start.at && at >= record.born.at ? [at] : [];
  });
  return Math.max(...noted, attemptOf(traceOf(instance), name)?.scheduled.at ?? 0);
}

/** The time from which a size applies to all members. One that was not answered may apply, or not, for ever after. */
function settledAt({ outcome, answered, invoked }: ClientCall, { isCluster, timings }: Evidence["setting"]): number {
  if (!isCluster) return invoked.at;
  if (outcome !== "ok" || answered === undefined) return Infinity;
  return answered.at + timings.suspectMs + timings.lostMs + timings.callMs;
}

function concurrencyOf(evidence: Evidence, { name }: JobRun): number {
  const instance = commitHistoryOf(evidence).at(name.instanceId, name.generation);
  const birth = instance && birthOf(instance);
  const ofDag = birth?.type === "InstanceCreated" ? birth.maxConcurrentTasks : 0;
  return ofDag || evidence.setting.maxConcurrentActivities || Infinity;
}
