import type { TaskProgress } from "../dispatch/task-progress.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { ItemCounts } from "../kernel/dag/item-states.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Trigger } from "../kernel/event.ts";
import type { NodeId } from "../kernel/node-spec.ts";
import type { MapHook, TaskDefinition, TaskKind } from "../kernel/task-definition.ts";
import { causeOf, isFailed, isUnderWay, Phase, statusOf } from "../kernel/task-state.ts";
import type { Failure } from "../kernel/failure.ts";
import type { CancelCause, InstanceStatus, TaskStatus } from "../kernel/status.ts";
import type { TaskWaitView } from "./wait.ts";
import { waitingSince, waitInside } from "./wait-inside.ts";
import { type LiveWaits, viewWaiting, type WaitingView } from "./waiting.ts";
import { localName } from "../base/namespace.ts";

/** The status of an instance and of its tasks. Times are epoch milliseconds. */
export interface InstanceView extends WaitingView {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly workflowVersion: string;
  readonly kind: "dag" | "code";
  readonly status: InstanceStatus;
  /** The reason why the code of a code workflow is blocked, and what to do about it. */
  readonly attention: string | undefined;
  /** The status that the code of a code workflow has set for itself. */
  readonly customStatus: unknown;
  /** True while a requested pause waits for running tasks to finish. */
  readonly pausing: boolean;
  /** True if the instance ended in Success although tasks failed, whose failures were skipped. */
  readonly withSkippedFailures: boolean;
  readonly generation: number;
  readonly reason: string | undefined;
  /** The source of the start: a user, a schedule, a parent, or another instance. */
  readonly trigger: Trigger;
  /** The application that it belongs to, inside its namespace. */
  readonly app: string | undefined;
  readonly createdAt: number;
  /** Time of the last turn. */
  readonly updatedAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly parentInstanceId: string | undefined;
  /** Events in its history so far, those of earlier generations included. */
  readonly historyLength: number;
  readonly tasks: readonly TaskView[];
}

/** A task of an instance, as its status shows it. */
export interface TaskView {
  /** The task's number within the instance, as in events. */
  readonly number: number;
  readonly name: string;
  readonly nodeId: NodeId;
  readonly kind: TaskKind;
  /** The job's name; undefined for a decision or a nested workflow. */
  readonly job: string | undefined;
  readonly status: TaskStatus;
  readonly cause: CancelCause | undefined;
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly worker: string | undefined;
  /** The failure of the last attempt that failed. */
  readonly failure: Failure | undefined;
  /** Time at which the next attempt is due. */
  readonly retryAt: number | undefined;
  readonly childInstanceId: string | undefined;
  /** The name of the task that generated this sub-task. */
  readonly parentTask: string | undefined;
  /** The reason why the task does not run, unless its predecessors are the reason. */
  readonly wait: TaskWaitView | undefined;
  /** Counts of the items of a map, once they are listed. */
  readonly items?: ItemCounts;
  /** True if its items are the workers of a broadcast. */
  readonly isBroadcast?: boolean;
  /** The jobs that a map, or a broadcast, runs once, before its items and after them. */
  readonly hooks?: readonly MapHook["name"][];
  /** The progress that the running job reports; absent if it reports none. */
  readonly progress?: TaskProgress;
}

/** One task in detail. */
export interface TaskDetails extends TaskView {
  /** The number of its own sub-tasks by status. */
  readonly subTasks: Readonly<Partial<Record<TaskStatus, number>>>;
}

/** Live facts about one task that the history does not have. */
export type LiveTask = Pick<LiveWaits, "taskWait" | "progress">;

export function viewInstance(
  machine: Machine,
  live: LiveWaits,
): Omit<InstanceView, "customStatus" | "attention" | "historyLength"> {
  const { state, address } = machine;
  const numbers = taskNumbers(machine);
  const tasks = numbers.map((task) => viewTask(machine, task, live));
  return {
    instanceId: localName(address.id),
    workflowName: localName(state.workflow),
    workflowVersion: state.version,
    kind: machine.kind,
    status: state.status,
    pausing: state.pausing,
    withSkippedFailures: state.status === "Success" && numbers.some((task) => isFailed(state.phase(task))),
    generation: state.generation,
    reason: state.reason,
    trigger: state.trigger,
    app: state.app,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
    parentInstanceId: localOrNone(state.parent?.id),
    ...viewWaiting(machine, live),
    tasks,
  };
}

export function viewTask(machine: Machine, task: number, live: LiveTask): TaskView {
  const { state } = machine;
  const definition = state.definition(task);
  const record = state.record(task);
  const phase = state.phase(task);
  const parent = state.parentOf(task);
  const items =
    definition.kind === "map" && machine instanceof DagMachine ? machine.state.items.ofTask(task)?.counts : undefined;
  const progress = phase === Phase.running ? live.progress(task) : undefined;
  return {
    number: task,
    name: definition.name,
    nodeId: definition.nodeId,
    kind: definition.kind,
    job: definition.jobName,
    status: statusOf(phase),
    cause: causeOf(phase),
    attempt: record?.attempt ?? 0,
    startedAt: record?.startedAt,
    endedAt: record?.endedAt,
    worker: record?.worker,
    failure: record?.failure,
    retryAt: record?.retryAt,
    childInstanceId: localOrNone(record?.childId),
    parentTask: parent === undefined ? undefined : state.definition(parent).name,
    wait: waitOf(machine, task, live.taskWait),
    ...(items !== undefined && { items }),
    ...mapFacts(definition),
    ...(progress !== undefined && { progress }),
  };
}

function mapFacts({ map }: TaskDefinition): Pick<TaskView, "isBroadcast" | "hooks"> {
  if (map === undefined) return {};
  const hooks = map.hooks.map(({ name }) => name);
  const isBroadcast = map.items === undefined && !hooks.includes("source");
  return { ...(isBroadcast && { isBroadcast }), ...(hooks.length > 0 && { hooks }) };
}

function localOrNone(id: string | undefined): string | undefined {
  return id === undefined ? undefined : localName(id);
}

export function countSubTasks(machine: Machine, parent: number): TaskDetails["subTasks"] {
  const { state } = machine;
  const counts: Partial<Record<TaskStatus, number>> = {};
  for (const task of taskNumbers(machine)) {
    if (state.parentOf(task) !== parent) continue;
    const status = statusOf(state.phase(task));
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

function waitOf(machine: Machine, task: number, taskWait: LiveWaits["taskWait"]): TaskWaitView | undefined {
  const { state } = machine;
  // A task on record as running may be waiting for its slot or its job again after a restart.
  const wait = isUnderWay(state.phase(task)) ? taskWait(task) : waitInside(state, task);
  return wait && { ...wait, since: waitingSince(machine, task) };
}

/** The numbers of all tasks of the instance, without sub-tasks that were removed because their parent ran again. */
export function taskNumbers(machine: Machine): number[] {
  const numbers: number[] = [];
  for (let task = 0; task < machine.state.size; task++) {
    if (machine.state.phase(task) !== Phase.removed) numbers.push(task);
  }
  return numbers;
}

/** A task that failed, and why. */
export interface FailedTask {
  readonly name: string;
  readonly status: TaskStatus;
  readonly attempt: number;
  readonly failure: Failure | undefined;
}

export function failedTasks(machine: Machine): FailedTask[] {
  const { state } = machine;
  return taskNumbers(machine)
    .filter((task) => isFailed(state.phase(task)))
    .map((task) => ({
      name: state.definition(task).name,
      status: statusOf(state.phase(task)),
      attempt: state.record(task)?.attempt ?? 0,
      failure: state.record(task)?.failure,
    }));
}
