import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { NodeId } from "../kernel/node-spec.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";
import type { JobRow } from "../stores/store.ts";

/** An attempt with the dispatcher of this process: it waits for a slot, or runs. */
export interface QueuedTask {
  readonly state: "waiting" | "running";
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  readonly nodeId: NodeId;
  readonly attempt: number;
  readonly job: string;
  readonly domain: string;
  /** When it came, or started; epoch ms. */
  readonly since: number;
  readonly worker: string | undefined;
  readonly waitingFor: string | undefined;
}

/** Who runs tasks for this process: its own pool, and workers in processes of their own. */
export interface WorkerView {
  readonly address: string;
  readonly isRemote: boolean;
  readonly slots: number;
  readonly runningTasks: number;
  /** It takes nothing new. */
  readonly isDraining: boolean;
}

export interface JobView {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  /** Their types by name. */
  readonly parameters: unknown;
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

export function queuedTasks(dispatcher: Dispatcher): QueuedTask[] {
  const waiting = dispatcher.listWaiting().map(({ run, queuedAt, waitingFor }) => ({
    state: "waiting" as const,
    ...identityOf(run),
    since: queuedAt,
    worker: undefined,
    waitingFor,
  }));
  const running = dispatcher.listRunning().map(({ run, startedAt, worker }) => ({
    state: "running" as const,
    ...identityOf(run),
    since: startedAt,
    worker,
    waitingFor: undefined,
  }));
  return [...waiting, ...running];
}

/** One that belongs to no instance of this process is known by its number alone. */
function identityOf(run: TaskRun): Omit<QueuedTask, "state" | "since" | "worker" | "waitingFor"> {
  const { instanceId, workflowName, taskName, task, attempt, job, domain } = run;
  const nodeId = run instanceof InstanceTaskRun ? run.actor.machine.state.definition(task).nodeId : task;
  return { instanceId, workflowName, taskName, nodeId, attempt, job, domain };
}

export function jobView(
  { id, name, signature, parameters, missing, createdAt, updatedAt }: JobRow,
  registry: JobRegistry,
): JobView {
  const isHere = registry.find(id) !== undefined;
  return { id, name, signature, parameters: JSON.parse(parameters) as unknown, isHere, missing, createdAt, updatedAt };
}
