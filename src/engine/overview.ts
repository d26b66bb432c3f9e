import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Dispatcher, RunningRun, WaitingRun } from "../dispatch/dispatcher.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { WaitReason } from "../dispatch/wait-reason.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { Region } from "../runtime/region.ts";
import type { TaskIdentity, WaitingTask } from "../runtime/waiting-task.ts";
import type { JobRow } from "../stores/store.ts";

/**
 * A task of this process that runs or waits for anything but its predecessors, or an instance that waits as a whole and has
 * no task yet.
 */
export interface QueuedTask extends TaskIdentity {
  readonly state: "waiting" | "running";
  /** Epoch ms: when it was queued, was started, or failed last; undefined if none of these has happened. */
  readonly since: number | undefined;
  readonly worker: string | undefined;
  /** The reason why a waiting task waits. */
  readonly reason: WaitReason | undefined;
  /** The reason as a sentence. */
  readonly waitingFor: string | undefined;
  /** Time at which the next attempt is due. */
  readonly retryAt: number | undefined;
}

export interface QueueFilter {
  readonly state?: QueuedTask["state"];
  /** Maximum of tasks of each state. Default 1000. */
  readonly limit?: number;
}

/** A worker of this process: its embedded pool, or a remote worker that is connected to it. */
export interface WorkerView {
  readonly address: string;
  readonly isRemote: boolean;
  readonly slots: number;
  readonly runningTasks: number;
  /** True while the worker takes no new tasks. */
  readonly isDraining: boolean;
  /**
   * False for a remote worker that missed a heartbeat or lost its connection: it gets no tasks until its next message.
   */
  readonly isReachable: boolean;
  /** Epoch ms of its last message; undefined for the pool of this process. */
  readonly lastHeardAt: number | undefined;
  /** The ids of the jobs that it can run. */
  readonly jobs: readonly string[];
}

/** An instance that has something under way and makes no progress. */
export interface StuckInstance {
  readonly instanceId: string;
  readonly workflowName: string;
  /** Epoch ms of its last turn. */
  readonly updatedAt: number;
}

export interface JobView {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  /** The types of the parameters by name. */
  readonly parameters: unknown;
  /** `module#export`, if it is known. */
  readonly codePath: string | undefined;
  /** A hash of the function's source text; it changes with the code. */
  readonly sourceHash: string;
  /** True if this process has the job's function. */
  readonly isHere: boolean;
  /** No process on this store had its function at its last start. */
  readonly missing: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A workflow that this process can start by its name. */
export interface WorkflowView {
  readonly name: string;
  /** Undefined for a workflow that cannot run here. */
  readonly version: string | undefined;
  readonly kind: "dag" | "code";
}

/** Waiting tasks first, those of the dispatcher before those inside instances; at most `limit` of each state. */
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

/** A task of no instance in this process is identified by its number alone. */
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
