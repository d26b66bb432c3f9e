import type { Event } from "../../../src/kernel/event.ts";
import { type Evidence, isBefore, type JobRun } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, type DurableEvent, eventsOf, type InstanceCommits, isCopied } from "./commit-history.ts";
import { type Clocks, clocksOf, fastestRate } from "./clocks.ts";

/** Clocks have a resolution of one millisecond, at both ends of a period. */
const roundingMs = 2;

/**
 * I5: turns have times that a clock really showed; retries and timeouts are never early. A wait may seem shorter by the
 * difference between the clocks of the machines, or by which they were set.
 */
export const checkTiming: Checker = (evidence) => {
  const clocks = clocksOf(evidence);
  const wrong: string[] = [];
  for (const instance of commitHistoryOf(evidence).instances.values()) {
    wrong.push(...checkTurnTimes(evidence, instance, clocks), ...checkDeadlines(instance), ...checkTimers(instance));
  }
  for (const [, runs] of Map.groupBy(evidence.runs, ({ name }) => `${name.instanceId}:${name.generation}:${name.task}`))
    wrong.push(...checkRetries(runs, evidence, clocks));
  return [...wrong, ...checkFailures(evidence)];
};

function checkTurnTimes(evidence: Evidence, instance: InstanceCommits, clocks: Clocks): string[] {
  const wrong: string[] = [];
  // An instance is created later than the one that had its id before, whatever the clock of its member says.
  const earlier = commitHistoryOf(evidence)
    .livesOf(instance.id)
    .filter(({ key }) => key < instance.key);
  let before = (earlier.at(-1)?.turns[0]?.at ?? 0) + 1;
  for (const { turn, at, landed, life } of instance.turns) {
    const record = evidence.lives[life - 1];
    const latest = record === undefined ? Infinity : clocks.latestWall(record.machine, record.born.at, landed.at);
    if (at > Math.max(before, latest))
      wrong.push(`${instance.id}: turn ${turn} says ${at}, and its writer's clock had come to ${Math.floor(latest)}`);
    before = at;
  }
  return wrong;
}

/** Compares the attempts of one task in one generation. */
function checkRetries(runs: readonly JobRun[], { lives }: Evidence, clocks: Clocks): string[] {
  const wrong: string[] = [];
  const attempts = [...Map.groupBy(runs, ({ name }) => name.attempt).entries()].sort(([a], [b]) => a - b);
  for (const [place, [, again]] of attempts.entries()) {
    const failed = attempts[place - 1]?.[1].findLast(({ end }) => end !== undefined);
    const [first] = again;
    const { retryMs, retryFactor } = failed?.params ?? {};
    if (failed?.end === undefined || first === undefined || typeof retryMs !== "number") continue;
    if (isTimedOutOnWorker(attempts[place - 1]?.[1].at(-1), first, lives)) continue;
    const waitMs = retryMs * Number(retryFactor ?? 1) ** (place - 1);
    const waitedMs = first.start.at - failed.end.at;
    const leastMs = waitMs - clocks.spread(failed.end.at, first.start.at) - roundingMs;
    if (waitedMs < leastMs) wrong.push(`${first.attemptId}, a retry, ran ${(leastMs - waitedMs).toFixed(1)} ms early`);
  }
  return wrong;
}

/**
 * A worker learns late of a timeout: its attempt may continue, or even start, when the retry has started. The wait
 * counts from the timeout.
 */
function isTimedOutOnWorker(last: JobRun | undefined, retry: JobRun, lives: Evidence["lives"]): boolean {
  if (last === undefined || lives[last.life - 1]?.role !== "worker") return false;
  return last.end === undefined || last.end.how === "aborted" || isBefore(retry.start, last.start);
}

/** Checks failures in the histories: retries are planned late enough, and timeouts are not early. */
function checkFailures(evidence: Evidence): string[] {
  const wrong: string[] = [];
  const runs = Map.groupBy(evidence.runs, ({ attemptId }) => attemptId);
  for (const instance of commitHistoryOf(evidence).instances.values()) {
    const retries = new Map<string, number>();
    for (const failed of eventsOf(instance)) {
      const { event, landed, turnAt, generation } = failed;
      if (event.type !== "TaskFailed" || isCopied(instance, failed)) continue;
      const task = `${instance.id}:${generation}:${event.task}`;
      const attemptId = `${task}:${event.attempt}`;
      const started = (runs.get(attemptId) ?? []).filter(({ start }) => isBefore(start, landed));
      const hasRunOut = started.some((run) => isRunOut(evidence, run, landed.at)) || isGrantRunOut(evidence, failed);
      if (event.timedOut && !hasRunOut) wrong.push(`${attemptId} was timed out early`);
      const { retryMs, retryFactor } = started[0]?.params ?? {};
      if (event.retryAt === undefined || typeof retryMs !== "number") continue;
      const used = retries.get(task) ?? 0;
      retries.set(task, used + 1);
      const earlyMs = retryMs * Number(retryFactor ?? 1) ** used - (event.retryAt - turnAt);
      if (earlyMs > 0) wrong.push(`${attemptId} failed, and its retry was planned ${earlyMs} ms early`);
    }
  }
  return wrong;
}

/** Whether it has run for its timeout by the clock of its machine. */
function isRunOut(evidence: Evidence, { life, start, params }: JobRun, at: number): boolean {
  const rate = evidence.lives[life - 1]?.rate ?? 1;
  return (at - start.at) * rate >= Number(params["timeoutMs"]) - roundingMs;
}

/**
 * On a worker the timeout counts from the grant, which may be late or lost, and not from the job's own start. Only the
 * recorded time is known, by the clock of the member that granted it; another member to which the worker has moved uses
 * its own clock.
 */
function isGrantRunOut(evidence: Evidence, { event, landed, turnAt }: DurableEvent): boolean {
  if (event.type !== "TaskFailed" || event.startedAt === undefined || !event.worker?.includes("/")) return false;
  const timeoutMs = Number(/timeout of ([\d.]+) s/.exec(event.failure.message)?.[1]) * 1000;
  const waitedMs = turnAt - event.startedAt + clocksOf(evidence).spread(0, landed.at);
  return waitedMs * fastestRate >= timeoutMs - roundingMs;
}

function checkDeadlines(instance: InstanceCommits): string[] {
  const wrong: string[] = [];
  let deadline: number | undefined;
  let isTimedOut = false;
  for (const { event, turnAt } of eventsOf(instance)) {
    const isLate = deadline !== undefined && turnAt >= deadline;
    if (isTimeout(event, isTimedOut) && !isLate) wrong.push(`${instance.id} was timed out early`);
    if ("deadline" in event) deadline = event.deadline;
    // A new generation records it again.
    isTimedOut = event.type === "InstanceTimedOut" || (isTimedOut && event.type !== "InstanceEnded");
  }
  return wrong;
}

/** Code is asked to end, and has a second deadline for its compensations. */
function isTimeout(event: Event, isTimedOut: boolean): boolean {
  if (event.type === "InstanceTimedOut") return !isTimedOut;
  // Children that a timed-out parent ends have not timed out themselves.
  if (event.type !== "InstanceEnded" || event.status !== "Failed") return false;
  return event.reason?.includes(isTimedOut ? "its compensation not within" : "did not end within its timeout") === true;
}

/** A timer fires at most once, not early, and not after it was canceled. */
function checkTimers(instance: InstanceCommits): string[] {
  const wrong: string[] = [];
  let dueAt = new Map<number, number>();
  for (const durable of eventsOf(instance)) {
    const { event, turnAt } = durable;
    if (event.type === "InstanceContinued") dueAt = new Map();
    if (event.type === "TimerSet") dueAt.set(event.timer, event.dueAt);
    if (event.type === "TimerFired" && !isCopied(instance, durable)) {
      const earlyMs = (dueAt.get(event.timer) ?? Infinity) - turnAt;
      if (earlyMs === Infinity) wrong.push(`${instance.id}: timer ${event.timer} fired, and was not set`);
      else if (earlyMs > 0) wrong.push(`${instance.id}: timer ${event.timer} fired ${earlyMs} ms early`);
    }
    if (event.type === "TimerFired" || event.type === "TimerCanceled") dueAt.delete(event.timer);
    if (event.type === "CancelHeeded" || (event.type === "CancelRequested" && !event.isHeld)) dueAt.clear();
  }
  return wrong;
}
