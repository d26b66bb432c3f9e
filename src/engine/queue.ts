import { localName, namespaceOf } from "../base/namespace.ts";
import type { RunningRun, WaitingRun } from "../dispatch/dispatcher.ts";
import type { DispatcherStatus } from "../dispatch/dispatcher-status.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { WaitReason } from "../dispatch/wait-reason.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import { comparePlaces, placeOf, type QueuePlace } from "../runtime/queue-place.ts";
import type { Region } from "../runtime/region.ts";
import type { TaskIdentity, WaitingTask } from "../runtime/waiting-task.ts";
import type { QueuedTask } from "./overview.ts";

export interface QueueParts {
  readonly dispatcher: { readonly status: Pick<DispatcherStatus, "listWaiting" | "listRunning"> };
  readonly region: Pick<Region, "listWaiting" | "countWaits">;
}

export interface QueuePageRequest {
  readonly namespace: string;
  readonly state: QueuedTask["state"];
  readonly limit: number;
  /** The place of the last task of the page before. */
  readonly after?: QueuePlace | undefined;
}

/** Lists tasks of this process by their places. */
export async function queuePage(parts: QueueParts, request: QueuePageRequest): Promise<QueuedTask[]> {
  const { dispatcher, region } = parts;
  const { namespace, state, limit } = request;
  if (state === "running") return pageOf(dispatcher.status.listRunning(), request).map(runningTask);
  const queued = pageOf(dispatcher.status.listWaiting(), request).map(queuedRun);
  const inside = await region.listWaiting(namespace, { limit, after: request.after });
  const tasks = [...queued, ...inside.map(waitingInside)];
  return tasks.sort((a, b) => comparePlaces(placeOf(a), placeOf(b))).slice(0, limit);
}

function pageOf<Listed extends { readonly run: TaskRun }>(
  listed: readonly Listed[],
  { namespace, limit, after }: QueuePageRequest,
): Listed[] {
  const places = listed.flatMap((each) => {
    if (namespaceOf(each.run.instanceId) !== namespace) return [];
    const place = { instanceId: localName(each.run.instanceId), task: each.run.task };
    return after === undefined || comparePlaces(place, after) > 0 ? [{ each, place }] : [];
  });
  places.sort((a, b) => comparePlaces(a.place, b.place));
  return places.slice(0, limit).map(({ each }) => each);
}

function queuedRun({ run, queuedAt, wait }: WaitingRun): QueuedTask {
  const about = { since: queuedAt, worker: undefined, wait, retryAt: undefined };
  return { state: "waiting", ...identityOf(run), ...about };
}

function runningTask({ run, startedAt, worker, progress }: RunningRun): QueuedTask {
  const about = { since: startedAt, worker, wait: undefined, retryAt: undefined };
  return { state: "running", ...identityOf(run), ...about, ...(progress !== undefined && { progress }) };
}

function waitingInside(task: WaitingTask): QueuedTask {
  return { state: "waiting", ...task, worker: undefined };
}

/** A task of no instance in this process is identified by its number alone. */
function identityOf(run: TaskRun): TaskIdentity {
  const { taskName, task, attempt } = run;
  const definition = run instanceof InstanceTaskRun ? run.actor.machine.state.definition(task) : undefined;
  return {
    namespace: namespaceOf(run.instanceId),
    instanceId: localName(run.instanceId),
    workflowName: localName(run.workflowName),
    taskName,
    nodeId: definition?.nodeId ?? task,
    task,
    kind: "job",
    skipWhenFailed: definition?.skipWhenFailed ?? false,
    attempt,
    job: localName(run.job),
    domain: localName(run.domain),
  };
}

/** Counts of tasks that run and wait. Tasks without a job, and those whose job is not in memory, are in no count by job. */
export interface QueueCounts {
  readonly waiting: {
    readonly total: number;
    readonly byReason: Tally;
    readonly byWorkflow: Tally;
    readonly byJob: Tally;
  };
  readonly running: {
    readonly total: number;
    readonly byWorkflow: Tally;
    readonly byJob: Tally;
    readonly byWorker: Tally;
  };
}

/** Counts by name, the largest first; at most 1000 names. */
export type Tally = readonly { readonly name: string; readonly count: number }[];

const namesMax = 1000;

/** Counts the tasks of a namespace in this process. */
export function countQueue({ dispatcher, region }: QueueParts, namespace: string): QueueCounts {
  const isOwn = ({ run }: { readonly run: TaskRun }): boolean => namespaceOf(run.instanceId) === namespace;
  const waiting = new Counts();
  for (const { run, wait } of dispatcher.status.listWaiting().filter(isOwn)) {
    waiting.add({ workflow: localName(run.workflowName), job: localName(run.job), third: wait.reason, count: 1 });
  }
  region.countWaits(namespace, ({ reason, ...wait }) => waiting.add({ ...wait, third: reason }));
  const running = new Counts();
  for (const { run, worker } of dispatcher.status.listRunning().filter(isOwn)) {
    running.add({ workflow: localName(run.workflowName), job: localName(run.job), third: worker, count: 1 });
  }
  const { total, workflows, jobs, thirds } = waiting;
  return {
    waiting: { total, byReason: tally(thirds), byWorkflow: tally(workflows), byJob: tally(jobs) },
    running: {
      total: running.total,
      byWorkflow: tally(running.workflows),
      byJob: tally(running.jobs),
      byWorker: tally(running.thirds),
    },
  };
}

/** Counts by workflow, by job, and by a third name: the reason of a wait, or the worker that runs a task. */
class Counts {
  total = 0;
  readonly workflows = new Map<string, number>();
  readonly jobs = new Map<string, number>();
  readonly thirds = new Map<string, number>();

  add(counted: { workflow: string; job: string | undefined; third: string | undefined; count: number }): void {
    const { workflow, job, third, count } = counted;
    this.total += count;
    raise(this.workflows, workflow, count);
    if (job !== undefined) raise(this.jobs, job, count);
    if (third !== undefined) raise(this.thirds, third, count);
  }
}

function raise(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function tally(counts: ReadonlyMap<string, number>): Tally {
  const entries = Array.from(counts, ([name, count]) => ({ name, count }));
  entries.sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
  return entries.slice(0, namesMax);
}

export function addCounts(counts: readonly QueueCounts[]): QueueCounts {
  const waiting = counts.map((each) => each.waiting);
  const running = counts.map((each) => each.running);
  return {
    waiting: {
      total: sum(waiting),
      byReason: addTallies(waiting.map(({ byReason }) => byReason)),
      byWorkflow: addTallies(waiting.map(({ byWorkflow }) => byWorkflow)),
      byJob: addTallies(waiting.map(({ byJob }) => byJob)),
    },
    running: {
      total: sum(running),
      byWorkflow: addTallies(running.map(({ byWorkflow }) => byWorkflow)),
      byJob: addTallies(running.map(({ byJob }) => byJob)),
      byWorker: addTallies(running.map(({ byWorker }) => byWorker)),
    },
  };
}

function sum(counts: readonly { readonly total: number }[]): number {
  return counts.reduce((total, each) => total + each.total, 0);
}

function addTallies(tallies: readonly Tally[]): Tally {
  const counts = new Map<string, number>();
  for (const { name, count } of tallies.flat()) raise(counts, name, count);
  return tally(counts);
}

/** Counts the waiting tasks of all namespaces in this process by their reasons. */
export function countReasons({ dispatcher, region }: QueueParts): ReadonlyMap<WaitReason, number> {
  const counts = new Map<WaitReason, number>();
  const add = (reason: WaitReason, count: number): void => void counts.set(reason, (counts.get(reason) ?? 0) + count);
  for (const { wait } of dispatcher.status.listWaiting()) add(wait.reason, 1);
  region.countWaits(undefined, ({ reason, count }) => add(reason, count));
  return counts;
}
