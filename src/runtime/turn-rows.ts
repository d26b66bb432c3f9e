import type { Machine } from "../kernel/machine.ts";
import { taskEffects } from "../kernel/event-tasks.ts";
import { nodeTypes } from "../kernel/task-definition.ts";
import { isFailed, statusOf } from "../kernel/task-state.ts";
import type { Event } from "../kernel/event.ts";
import { type EndStatus, hasEnded } from "../kernel/status.ts";
import type { FinishedRow, InstanceRow, TaskRow } from "../stores/store.ts";

/** The rows of tasks that a turn's events changed, as they are after it; each once. */
export function taskRows(machine: Machine, events: readonly Event[]): TaskRow[] {
  if (events.length === 1 && events[0]?.type === "TasksScheduled") return [];
  let only: number | undefined;
  let several: Set<number> | undefined;
  const touch = (task: number): void => {
    if (only === undefined) only = task;
    else if (only !== task) (several ??= new Set([only])).add(task);
  };
  for (const event of events) {
    if (taskEffects[event.type] !== "attempt") continue;
    if ("tasks" in event) event.tasks.forEach(touch);
    else if ("task" in event) touch(event.task);
  }
  if (several !== undefined) return Array.from(several, (task) => taskRow(machine, task));
  return only === undefined ? [] : [taskRow(machine, only)];
}

function taskRow(machine: Machine, task: number): TaskRow {
  const { state, address } = machine;
  const record = state.record(task);
  const definition = state.definition(task);
  const phase = state.phase(task);
  const failure = record?.failure;
  const waitsForRetry = record?.retryAt !== undefined;
  return {
    instance: address.key,
    task,
    attempt: record?.attempt ?? 0,
    name: definition.name,
    type: nodeTypes[definition.kind],
    status: waitsForRetry ? "Failed" : statusOf(phase),
    worker: record?.worker ?? null,
    startedAt: record?.startedAt ?? null,
    endedAt: record?.endedAt ?? null,
    retryCount: (record?.retriesUsed ?? 0) - (waitsForRetry ? 1 : 0),
    error: failure === undefined ? null : JSON.stringify(failure),
  };
}

/** `isActive`: the instance is loaded when its shard is opened. */
export function instanceRow(
  { machine, isActive }: { readonly machine: Machine; readonly isActive: boolean },
  updatedAt: number,
): InstanceRow {
  const { state, address } = machine;
  return {
    key: address.key,
    id: address.id,
    workflow: state.workflow,
    version: state.version,
    status: state.status,
    generation: state.generation,
    wakeAt: machine.nextWake() ?? null,
    active: isActive,
    waitingTasks: isActive ? 0 : state.waitingCount,
    createdAt: state.createdAt,
    updatedAt,
    quarantined: null,
  };
}

/** The instance row is written only when one of these fields has changed. */
export function isSameRow(a: InstanceRow, b: InstanceRow): boolean {
  return (
    a.status === b.status &&
    a.wakeAt === b.wakeAt &&
    a.active === b.active &&
    a.waitingTasks === b.waitingTasks &&
    a.generation === b.generation
  );
}

export function finishedRow(machine: Machine): FinishedRow {
  const { state, address } = machine;
  let tasksFailed = 0;
  for (let task = 0; task < state.size; task++) if (isFailed(state.phase(task))) tasksFailed++;
  return {
    key: address.key,
    id: address.id,
    workflow: state.workflow,
    version: state.version,
    status: endStatus(machine),
    generation: state.generation,
    reason: state.reason ?? null,
    createdAt: state.createdAt,
    endedAt: state.endedAt ?? 0,
    tasks: state.size,
    tasksFailed,
  };
}

function endStatus(machine: Machine): EndStatus {
  const { status } = machine.state;
  if (!hasEnded(status)) throw new TypeError(`an instance that is ${status} has no end`);
  return status;
}
