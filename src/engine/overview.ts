import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Dispatcher, RunningRun, WaitingRun } from "../dispatch/dispatcher.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { WaitReason } from "../dispatch/wait-reason.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { Region } from "../runtime/region.ts";
import type { TaskIdentity, WaitingTask } from "../runtime/waiting-task.ts";
import type { JobRow } from "../stores/store.ts";

/**
 * A task of an instance of this process that runs, or waits for anything but its predecessors; or an instance that waits
 * as a whole, which has no task yet.
 */
export interface QueuedTask extends TaskIdentity {
  readonly state: "waiting" | "running";
  /** When it came to the dispatcher, started, or failed last; epoch ms. Undefined for what has done none of these. */
  readonly since: number | undefined;
  readonly worker: string | undefined;
  /** Of what waits. */
  readonly reason: WaitReason | undefined;
  /** The same in words. */
  readonly waitingFor: string | undefined;
  /** When the next attempt is due. */
  readonly retryAt: number | undefined;
}

export interface QueueFilter {
  readonly state?: QueuedTask["state"];
  /** Of each state. Default 1000. */
  readonly limit?: number;
}

/** Who runs tasks for this process: its own pool, and workers in processes of their own. */
export interface WorkerView {
  readonly address: string;
  readonly isRemote: boolean;
  readonly slots: number;
  readonly runningTasks: number;
  /** It takes nothing new. */
  readonly isDraining: boolean;
  /** A remote worker that has missed a beat, or whose link is closed, gets nothing until it is heard again. */
  readonly isReachable: boolean;
  /** Epoch ms of its last message; undefined for the pool of this process. */
  readonly lastHeardAt: number | undefined;
  /** Ids of the jobs that it has. */
  readonly jobs: readonly string[];
}

/** An instance that has something under way and makes no progress. */
export interface StuckInstance {
  readonly instanceId: string;
  readonly workflowName: string;
  /** Of its last turn; epoch ms. */
  readonly updatedAt: number;
}

export interface JobView {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  /** Their types by name. */
  readonly parameters: unknown;
  /** `module#export`, where it is known. */
  readonly codePath: string | undefined;
  /** Of the function's source text: another hash means that the code has changed. */
  readonly sourceHash: string;
  /** This process has its function. */
  readonly isHere: boolean;
  /** No process that shares the store had its function when it started last. */
  readonly missing: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A workflow that this process can start by its name. */
export interface WorkflowView {
  readonly name: string;
  /** Undefined for one that could not run as it is. */
  readonly version: string | undefined;
  readonly kind: "dag" | "code";
}

/** What waits first: with the dispatcher, then inside instances; at most so many of each state. */
export async function queuedTasks(
  { dispatcher, region }: { readonly dispatcher: Dispatcher; readonly region: Region },
  { state, limit }: { readonly state: QueuedTask["state"] | undefined; readonly limit: number },
): Promise<QueuedTask[]> {
  const tasks: QueuedTask[] = [];
  if (state !== "running") {
    const queued = dispatcher.listWaiting().slice(0, limit).map(queuedRun);
    const inside = await region.listWaiting(limit - queued.length);
    for (const task of queued) tasks.push(task);
    for (const task of inside) tasks.push(waitingInside(task));
  }
  if (state !== "waiting") for (const each of dispatcher.listRunning().slice(0, limit)) tasks.push(runningRun(each));
  return tasks;
}

function queuedRun({ run, queuedAt, wait: { reason, text: waitingFor } }: WaitingRun): QueuedTask {
  const about = { since: queuedAt, worker: undefined, reason, waitingFor, retryAt: undefined };
  return { state: "waiting", ...identityOf(run), ...about };
}

function runningRun({ run, startedAt, worker }: RunningRun): QueuedTask {
  const about = { since: startedAt, worker, reason: undefined, waitingFor: undefined, retryAt: undefined };
  return { state: "running", ...identityOf(run), ...about };
}

function waitingInside({ wait: { reason, text: waitingFor }, ...task }: WaitingTask): QueuedTask {
  return { state: "waiting", ...task, worker: undefined, reason, waitingFor };
}

/** One that belongs to no instance of this process is known by its number alone. */
function identityOf(run: TaskRun): TaskIdentity {
  const { instanceId, workflowName, taskName, task, attempt, job, domain } = run;
  const nodeId = run instanceof InstanceTaskRun ? run.actor.machine.state.definition(task).nodeId : task;
  return { instanceId, workflowName, taskName, nodeId, attempt, job, domain };
}

export function jobView(
  { id, name, signature, parameters, codePath, sourceHash, missing, createdAt, updatedAt }: JobRow,
  registry: JobRegistry,
): JobView {
  const isHere = registry.find(id) !== undefined;
  return {
    id,
    name,
    signature,
    parameters: JSON.parse(parameters) as unknown,
    codePath: codePath ?? undefined,
    sourceHash,
    isHere,
    missing,
    createdAt,
    updatedAt,
  };
}

/** The embedded pool of this process, unless it runs no jobs, and the remote workers that are connected to it. */
export function workerViews(parts: {
  readonly dispatcher: Dispatcher;
  readonly registry: JobRegistry;
  readonly options: { readonly runsJobs: boolean };
  readonly address: string;
}): WorkerView[] {
  const { dispatcher, registry, options, address: ownAddress } = parts;
  const remote = dispatcher.listConnected().map(({ worker, runningTasks }) => {
    const { address, slots, isDraining, isReachable, lastHeardAt, jobs } = worker;
    return { address, isRemote: true, slots, runningTasks, isDraining, isReachable, lastHeardAt, jobs };
  });
  if (!options.runsJobs) return remote;
  const sum = (count: "slots" | "runningTasks"): number => remote.reduce((all, worker) => all + worker[count], 0);
  const own: WorkerView = {
    address: ownAddress,
    isRemote: false,
    slots: dispatcher.poolSize - sum("slots"),
    runningTasks: dispatcher.runningCount - sum("runningTasks"),
    isDraining: dispatcher.isDraining,
    isReachable: true,
    lastHeardAt: undefined,
    jobs: registry.ids,
  };
  return [own, ...remote];
}
