import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import { parseOptional } from "../code/values.ts";
import type { DispatcherStatus } from "../dispatch/dispatcher-status.ts";
import { attemptId } from "../kernel/address.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import { firstItemNumber } from "../kernel/dag/map-items.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Payload } from "../kernel/payload.ts";
import type { InstanceStatus } from "../kernel/status.ts";
import { type Breakpoint, viewBreakpoint } from "../views/breakpoint.ts";
import {
  countSubTasks,
  type FailedTask,
  failedTasks,
  type InstanceView,
  type TaskDetails,
  viewInstance,
  viewTask,
} from "../views/instance-view.ts";
import { type ItemFilter, type ItemPlaces, viewItems } from "../views/item-view.ts";
import type { LiveWaits } from "../views/waiting.ts";
import { CodeActor } from "./code-actor.ts";
import type { EndedMap } from "./ended-maps.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { findTask } from "./find-task.ts";

/** A breakpoint whose context is not read yet: its values may be large, and the caller reads them from the store. */
export interface InstanceBreakpoint extends Omit<Breakpoint, "context"> {
  readonly key: number;
  readonly context: Readonly<Record<string, Payload>>;
}

export interface InstanceIdentity {
  readonly key: number;
  readonly status: InstanceStatus;
  readonly workflow: string;
  readonly version: string;
  /** The key of the instance that it is a child of. */
  readonly parentKey?: number;
}

/** The outputs of an instance, and how it ended if it has. */
export interface InstanceEnd {
  readonly key: number;
  readonly status: InstanceStatus;
  readonly reason?: string | undefined;
  /** The failed tasks of a failed instance. */
  readonly failedTasks?: readonly FailedTask[] | undefined;
  /** The outputs of a DAG, by task name. */
  readonly outputs?: Readonly<Record<string, Payload>> | undefined;
  /** The output of a code workflow. */
  readonly output?: Payload | undefined;
}

/** Queries about attempts that are under way. */
export type LiveAttempts = Pick<DispatcherStatus, "waitOf" | "progressOf">;

export function readStatus(actor: InstanceActor, attempts: LiveAttempts): InstanceView {
  const { machine } = actor;
  return {
    ...viewInstance(machine, liveWaits(actor, attempts)),
    historyLength: actor.eventCount,
    attention: actor instanceof CodeActor ? actor.attention : undefined,
    customStatus: actor instanceof CodeActor ? parseOptional(actor.machine.state.customStatus) : undefined,
  };
}

function liveWaits(actor: InstanceActor, attempts: LiveAttempts): LiveWaits {
  const { machine, definition } = actor;
  return {
    taskWait: (task) => attempts.waitOf(currentAttempt(machine, task)),
    progress: (task) => attempts.progressOf(currentAttempt(machine, task)),
    instancesMax: definition.spec.maxInstances?.max,
    blocked: actor instanceof CodeActor ? actor.blocked : undefined,
    code: actor instanceof CodeActor ? actor.code.waits : undefined,
  };
}

export function readBreakpoint({ machine, key }: InstanceActor, now: number): InstanceBreakpoint {
  const context = Object.fromEntries(machine.state.context.entries);
  return { ...viewBreakpoint(machine, now), key, context };
}

export function readIdentity({ machine: { state }, key }: InstanceActor): InstanceIdentity {
  const { status, workflow, version, parent } = state;
  return { key, status, workflow, version, ...(parent !== undefined && { parentKey: parent.key }) };
}

export function readEnd(actor: InstanceActor): InstanceEnd {
  const { key, machine } = actor;
  const { status, reason } = machine.state;
  return {
    key,
    status,
    reason,
    failedTasks: status === "Failed" ? failedTasks(machine) : undefined,
    outputs: actor.outputs(),
    output: actor instanceof CodeActor ? actor.machine.state.output : undefined,
  };
}

/** `TASK_UNKNOWN`. */
export function readTask({ machine }: InstanceActor, given: string | number, attempts: LiveAttempts): TaskDetails {
  const task = findTask(machine, given);
  const attempt = currentAttempt(machine, task);
  return {
    ...viewTask(machine, task, {
      taskWait: () => attempts.waitOf(attempt),
      progress: () => attempts.progressOf(attempt),
    }),
    subTasks: countSubTasks(machine, task),
  };
}

/** The items of a map, as the state has them. */
export interface InstanceItems extends ItemPlaces {
  readonly key: number;
}

/** `TASK_UNKNOWN`; `TASK_INVALID` for a task that is no map. */
export function listItems({ machine, key }: EndedMap, given: string | number, filter: ItemFilter): InstanceItems {
  const task = findMap(machine, given);
  const { name, kind } = machine.state.definition(task);
  if (kind !== "map" || !(machine instanceof DagMachine))
    throw new EngineError("TASK_INVALID", `task "${name}" of instance "${localName(machine.address.id)}" is no map`);
  return { ...viewItems(machine, task, filter), key };
}

/** An attempt of an item, or of a hook, asks by its own number. `TASK_UNKNOWN`. */
function findMap(machine: Machine, given: string | number): number {
  const isItem = typeof given === "number" && given >= firstItemNumber && machine instanceof DagMachine;
  return isItem && machine.state.has(given) ? machine.state.nodeOf(given) : findTask(machine, given);
}

/** `INSTANCE_STATE` for a DAG. */
export function queryCode(actor: InstanceActor, query: string, input: string | undefined): string | undefined {
  if (actor instanceof CodeActor) return actor.code.query(query, input);
  throw new EngineError("INSTANCE_STATE", `instance "${localName(actor.id)}" is a DAG: queries are for code workflows`);
}

/** The id of the task's last attempt. */
function currentAttempt({ address, state }: Machine, task: number): string {
  return attemptId(address, task, state.attempt(task));
}
