import type { ParentAddress } from "./address.ts";
import type { Context } from "./context.ts";
import type { PausedBy, Trigger } from "./event.ts";
import type { InstanceStatus } from "./status.ts";
import type { TaskDefinition } from "./task-definition.ts";
import type { Phase, TaskRecord } from "./task-state.ts";

/** A requested pause, and its time. */
export interface Pause extends PausedBy {
  readonly at: number;
}

/** State of every instance, as the fold of its events, whichever machine runs it. Tasks are numbered by their place. */
export interface InstanceState {
  readonly workflow: string;
  readonly version: string;
  readonly trigger: Trigger;
  /** W3C trace context of whoever started it. */
  readonly traceparent: string | undefined;
  readonly app: string | undefined;
  readonly parent: ParentAddress | undefined;
  readonly status: InstanceStatus;
  /** 0 before the instance is created. */
  readonly generation: number;
  /** True if a pause was requested while tasks still run, or before the instance could start. */
  readonly pausing: boolean;
  /** The pause that was requested last. It counts while the instance is paused or pausing. */
  readonly pause: Pause | undefined;
  /** A failure has ended the start of new tasks; what runs may finish. */
  readonly failing: boolean;
  readonly reason: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly updatedAt: number;
  readonly context: Context;
  /** Domain of tasks that do not name one. */
  readonly domain: string | undefined;
  readonly maxConcurrentTasks: number;

  /** Number of tasks it has had, with those no longer part of it. */
  readonly size: number;
  /** Tasks under way. */
  readonly inFlight: number;
  /** Tasks in flight that are instances of their own. */
  readonly childrenInFlight: number;
  /** Tasks in flight that wait to be completed from outside. */
  readonly awaitingCount: number;
  /**
   * Tasks that only a limit of the instance, a pause or the time of their next attempt keeps from the dispatcher. An
   * instance that waits for a place among those of its workflow counts as one.
   */
  readonly waitingCount: number;
  /** True if the task, or item of a map, is part of the instance. */
  has(task: number): boolean;
  /** Items of maps that are in flight, by number. */
  inFlightItems(): number[];
  phase(task: number): Phase;
  definition(task: number): TaskDefinition;
  /** Undefined before it is first scheduled. */
  record(task: number): TaskRecord | undefined;
  /** Number of the attempt that runs, or ran last; 0 before the first. */
  attempt(task: number): number;
  params(task: number): string | undefined;
  /** The task of that name, if it is still part of the instance. */
  find(name: string): number | undefined;
  parentOf(task: number): number | undefined;
  /** Priority within a domain; lower goes first. */
  rank(task: number): number;
  /** Number of tasks that wait for it directly. */
  successors(task: number): number;
  tasksInFlight(): number[];
  /** Tasks of `waitingCount`; none while the instance itself waits. */
  waitingTasks(): number[];
}
