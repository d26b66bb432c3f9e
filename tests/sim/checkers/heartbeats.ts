import { isDeepStrictEqual } from "node:util";
import type { Event } from "../../../src/kernel/event.ts";
import type { Evidence, JobRun, Moment } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { fastestRate } from "./clocks.ts";
import { commitHistoryOf, type DurableEvent, eventsOf, type InstanceCommits } from "./commit-history.ts";

/** Clocks have a resolution of one millisecond, at both ends of a period. */
const roundingMs = 2;

/**
 * The details in the history were sent by a run of that attempt, the last ones if the job ended by itself; a run finds those
 * that an earlier attempt has left. A heartbeat timeout comes only after silence: never while a job sends its heartbeats,
 * whatever happens to its process and to its connections.
 */
export const checkHeartbeats: Checker = (evidence) => {
  const runs = Map.groupBy(evidence.runs, ({ name }) => `${name.instanceId}:${name.generation}:${name.task}`);
  return [...commitHistoryOf(evidence).instances.values()].flatMap((instance) =>
    checkInstance(instance, runs, evidence),
  );
};

/** Details that a durable event has left for later runs of the task. */
interface Left extends Moment {
  readonly details: unknown;
  /** The attempt that has failed; undefined if the attempt runs again. */
  readonly failed: number | undefined;
}

function checkInstance(
  instance: InstanceCommits,
  runs: ReadonlyMap<string, readonly JobRun[]>,
  evidence: Evidence,
): string[] {
  const wrong: string[] = [];
  const left = new Map<string, Left[]>();
  for (const durable of eventsOf(instance)) {
    const { event, landed, generation } = durable;
    for (const [task, details] of detailsIn(event)) {
      const name = `${instance.id}:${generation}:${task}`;
      const senders = (runs.get(name) ?? []).filter(({ name: { attempt } }) => isOf(event, attempt));
      if (!senders.some(({ heartbeats }) => heartbeats.some((sent) => isDeepStrictEqual(sent.details, details))))
        wrong.push(`${name} has details that it did not send: ${JSON.stringify(details)}`);
      const failed = event.type === "TaskFailed" ? event.attempt : undefined;
      left.set(name, [...(left.get(name) ?? []), { ...landed, details, failed }]);
    }
    if (event.type === "TaskFailed")
      wrong.push(...checkFailure(durable, runs.get(`${instance.id}:${generation}:${event.task}`) ?? [], evidence));
  }
  for (const [name, all] of left) for (const run of runs.get(name) ?? []) wrong.push(...checkFound(run, all));
  return wrong;
}

function isOf(event: Event, attempt: number): boolean {
  return !("attempt" in event) || event.attempt === attempt;
}

function detailsIn(event: Event): (readonly [task: number, details: unknown])[] {
  if (event.type === "TaskFailed" || event.type === "TaskInterrupted")
    return event.heartbeat === undefined ? [] : [[event.task, JSON.parse(event.heartbeat)]];
  if (event.type !== "TasksWithdrawn") return [];
  return Object.entries(event.heartbeats ?? {}).map(([task, text]) => [Number(task), JSON.parse(text)]);
}

/** A run may start late, by a grant from before: then it finds what was left at that time. It never finds less than failures have left. */
function checkFound(run: JobRun, all: readonly Left[]): string[] {
  const before = all.filter(({ order }) => order < run.start.order);
  const least = before.findLastIndex(({ failed }) => failed !== undefined && failed < run.name.attempt);
  if (least === -1 && run.found === undefined) return [];
  if (before.slice(Math.max(0, least)).some(({ details }) => isDeepStrictEqual(details, run.found))) return [];
  return [`${run.attemptId} found ${JSON.stringify(run.found)}, which is not what was left`];
}

function checkFailure({ event, landed }: DurableEvent, runs: readonly JobRun[], { lives }: Evidence): string[] {
  if (event.type !== "TaskFailed") return [];
  const { attempt, failure, heartbeat } = event;
  const own = runs.filter(({ name, start }) => name.attempt === attempt && start.order < landed.order);
  const [run] = own;
  if (run === undefined) return [];
  if (failure.type === "Error") return checkLast(own, heartbeat);
  if (failure.type !== "HEARTBEAT_TIMEOUT") return [];
  const { failures, fallsSilent, timeoutMs } = run.params;
  if (fallsSilent !== true || attempt > Number(failures)) return [`${run.attemptId} timed out, and was never silent`];
  const isSilent = own.some(({ heartbeats, start, life }) => {
    const since = heartbeats.findLast(({ order }) => order < landed.order) ?? start;
    const rate = lives[life - 1]?.rate ?? fastestRate;
    return (landed.at - since.at) * rate >= Number(timeoutMs) - roundingMs;
  });
  return isSilent ? [] : [`${run.attemptId} had a heartbeat timeout early`];
}

/** The job has failed by itself: what it sent last is known to its worker, and kept with the failure. */
function checkLast(runs: readonly JobRun[], heartbeat: string | undefined): string[] {
  const ended = runs.filter(({ end }) => end?.how === "failed");
  const details: unknown = heartbeat === undefined ? undefined : JSON.parse(heartbeat);
  const isLast = ({ heartbeats }: JobRun): boolean => isDeepStrictEqual(heartbeats.at(-1)?.details, details);
  return ended.length === 0 || ended.some(isLast)
    ? []
    : [`${ended[0]?.attemptId} failed, and its last details are lost`];
}
