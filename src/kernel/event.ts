import type { ParentAddress } from "./address.ts";
import type { NodeSpec, WhenParentEnds } from "./node-spec.ts";
import type { Failure } from "./failure.ts";
import type { Payload } from "./payload.ts";
import type { CancelCause, EndStatus } from "./status.ts";

/**
 * Event of an instance's history: its state is the fold of these, nothing else. An arrival (a task's end, a user's
 * request) stands before the decisions it led to. The names and fields reach the disk and are read for ever: add, never
 * rename. Tasks are numbered by their place: the definition's nodes first, then those added while running.
 */
export type Event =
  | InstanceCreated
  /**
   * The instance runs from this event on; an instance above its workflow's maximum is created first and started later.
   */
  | { readonly type: "InstanceStarted"; readonly deadline?: number }
  | ({ readonly type: "PauseRequested" } & PausedBy)
  /** Has the fields of the request where the instance pauses at once. */
  | ({ readonly type: "InstancePaused" } & PausedBy)
  | { readonly type: "InstanceResumed" }
  | InstanceEnded
  /** A child that needed no retry: another attempt of the parent's task waits for its end. */
  | { readonly type: "ParentChanged"; readonly parent: ParentAddress }
  /** Tasks were handed to the dispatcher, each with its next attempt. */
  | { readonly type: "TasksScheduled"; readonly tasks: readonly number[] }
  | TaskStarted
  | TaskAwaitsCompletion
  | TaskSucceeded
  | TaskFailed
  /** The attempt was lost with its process, worker or member; the same attempt runs again. */
  | TaskInterrupted
  /** Tasks were taken back from the dispatcher before they started. */
  | TasksWithdrawn
  /** The wait of these tasks for their next attempt is over. */
  | { readonly type: "RetriesDue"; readonly tasks: readonly number[] }
  | TasksStopped
  | { readonly type: "TasksCanceled"; readonly tasks: readonly number[]; readonly cause: CancelCause }
  | { readonly type: "ChildStarted"; readonly task: number; readonly attempt: number; readonly childId: string }
  /**
   * A task was added while the instance ran: below the parent whose sub-task it is; without a parent, by the workflow's
   * code.
   */
  | { readonly type: "TaskAdded"; readonly parent?: number; readonly node: NodeSpec }
  | DagEvent
  | CodeEvent;

/** Author and reason of a pause, where they were given. */
export interface PausedBy {
  readonly by?: string;
  readonly reason?: string;
}

/** Events of DAGs only. */
export type DagEvent =
  | InstanceReopened
  | { readonly type: "ContextPatched"; readonly patch: ContextPatch }
  | { readonly type: "TasksSkipped"; readonly tasks: readonly number[] }
  | MapStarted
  | ItemsAdded
  | DecisionMade
  | { readonly type: "TaskParamsUpdated"; readonly task: number; readonly params: string };

/**
 * The items of a map run from this event on, numbered on from the instance's last item (`firstItemNumber`); its hooks have
 * the numbers after them. Other events name items by these numbers, like tasks. Without pages and workers, the map runs
 * again with the items it has.
 */
export interface MapStarted {
  readonly type: "MapStarted";
  readonly task: number;
  readonly attempt: number;
  readonly pages?: readonly MapPage[];
  /** The eligible workers of a broadcast, in place of pages: each is an item. */
  readonly workers?: readonly string[];
}

/**
 * The source of a map, or one of its items, has handed in items: those of one of its calls, from an index on. They are
 * numbered on from the last item of the map.
 */
export interface ItemsAdded {
  readonly type: "ItemsAdded";
  readonly task: number;
  /** The number of the item or hook that made the call. */
  readonly by: number;
  /** The number of the call within each attempt, from 0. */
  readonly call: number;
  readonly from: number;
  readonly pages: readonly MapPage[];
}

/** A part of the items of a map, in order: a JSON array of `count` values. */
export interface MapPage {
  readonly count: number;
  readonly items: Payload;
}

/** Events of code workflows only. Timers are numbered by their place, like tasks. */
export type CodeEvent =
  | InstanceContinued
  | { readonly type: "TimerSet"; readonly timer: number; readonly dueAt: number }
  | { readonly type: "TimerFired"; readonly timer: number }
  | { readonly type: "TimerCanceled"; readonly timer: number }
  /** An event was raised by a client or another instance; it is kept until the code waits for it. */
  | { readonly type: "EventRaised"; readonly name: string; readonly data?: Payload }
  /**
   * An event was sent to another instance. Its data are kept here, whatever their size: they must outlive this history
   * until the event has arrived.
   */
  | { readonly type: "EventSent"; readonly to: string; readonly name: string; readonly data?: string }
  /** Another instance was asked to cancel. */
  | { readonly type: "CancelSent"; readonly to: string; readonly reason: string }
  /** A call into the code that is answered; the code's validator has accepted it. */
  | { readonly type: "UpdateRequested"; readonly update: string; readonly name: string; readonly data?: Payload }
  | UpdateAnswered
  /**
   * A cancel was requested: the code compensates and ends by itself. A cancel is held if it came while the code was
   * absent, or was compensating a saga, which is not cut short. A held cancel takes effect with `CancelHeeded`, a step
   * of the code after its sagas; or, for absent code, with another request that is not held, once the code has seen all
   * earlier events.
   */
  | { readonly type: "CancelRequested"; readonly reason: string; readonly isHeld?: true }
  | { readonly type: "CancelHeeded" }
  /**
   * The workflow's timeout has passed: the code is canceled, compensates, and the instance ends as failed. The
   * compensation may take `compensationMs`, until `deadline`; without a deadline it counts from when the cancel takes
   * effect, because the code is absent.
   */
  | { readonly type: "InstanceTimedOut"; readonly compensationMs: number; readonly deadline?: number }
  | { readonly type: "CustomStatusSet"; readonly status: string | null }
  /**
   * Recorded after an unclean start: the code is about to react, and may end or block the process. `losses` counts the
   * reactions that did so before.
   */
  | { readonly type: "ReactionStarted"; readonly losses: number }
  /** The recorded reaction has ended without a loss. `losses` is the number that still counts. */
  | { readonly type: "ReactionEnded"; readonly losses: number }
  /** The code takes the branch of `ctx.patched(name)` from this event on. */
  | { readonly type: "PatchMarked"; readonly patch: string }
  | ChildDetached
  /** A detached child has ended, or could not be started: the end of its parent does not affect it any more. */
  | { readonly type: "DetachedChildEnded"; readonly generation: number; readonly task: number };

/** A child was started that the code does not wait for. */
export interface ChildDetached {
  readonly type: "ChildDetached";
  readonly task: number;
  readonly childId: string;
  /** Absent: the child is left alone. */
  readonly whenParentEnds?: ParentClosePolicy;
}

/** A child that is not left alone when its parent ends. */
export type ParentClosePolicy = Exclude<WhenParentEnds, "leave">;

/**
 * A child that the code does not wait for, and that ends with its parent. Generation and task are those of the step
 * that started it.
 */
export interface DetachedChild {
  readonly generation: number;
  readonly task: number;
  readonly childId: string;
  readonly whenParentEnds: ParentClosePolicy;
}

/**
 * The code starts a new generation with this input: by `continueAsNew`, with the events that it had not waited for yet;
 * or, after the instance had ended, because a user runs it again. Earlier events do not count any more.
 */
export interface InstanceContinued {
  readonly type: "InstanceContinued";
  readonly workflow: string;
  readonly version: string;
  readonly generation: number;
  readonly createdAt: number;
  readonly input?: Payload;
  readonly parent?: ParentAddress;
  readonly trigger: Trigger;
  readonly traceparent?: string;
  readonly app?: string;
  readonly deadline?: number;
  readonly customStatus?: string;
  readonly events?: readonly KeptEvent[];
  /** The last answers of the code: their callers may not have received them yet. */
  readonly answers?: readonly KeptAnswer[];
  /** Detached children that keep running: the instance has not ended. */
  readonly children?: readonly DetachedChild[];
  /** Flags that the engine knew when the generation began; see `kernel/flags.ts`. */
  readonly flags?: readonly number[];
}

export interface KeptEvent {
  readonly name: string;
  readonly data?: Payload;
}

export interface KeptUpdate {
  readonly update: string;
  readonly name: string;
  readonly data?: Payload;
}

/** An answer with its time, kept for the next generation. */
export interface KeptAnswer extends UpdateAnswered {
  readonly at?: number;
}

export interface UpdateAnswered {
  readonly type: "UpdateAnswered";
  readonly update: string;
  readonly output?: Payload;
  readonly failure?: Failure;
}

export interface InstanceCreated {
  readonly type: "InstanceCreated";
  readonly workflow: string;
  readonly version: string;
  readonly generation: number;
  readonly context: Readonly<Record<string, Payload>>;
  readonly maxConcurrentTasks: number;
  readonly parent?: ParentAddress;
  readonly trigger: Trigger;
  /** W3C trace context of whoever started it. */
  readonly traceparent?: string;
  /** The application that it belongs to. */
  readonly app?: string;
  /** Input of a code workflow. */
  readonly input?: Payload;
  /** Instance that the rest of the turn was copied from. */
  readonly forkedFrom?: ForkedFrom;
  /** Flags that the engine knew when the generation began; see `kernel/flags.ts`. */
  readonly flags?: readonly number[];
}

export interface ForkedFrom {
  readonly id: string;
  readonly generation: number;
  /**
   * Times of the events in the source: the start, for the first two events of this history, and of each copied event.
   */
  readonly times?: readonly number[];
  /** Seed of the random numbers there, if that one was a fork itself. */
  readonly randomOf?: { readonly id: string; readonly generation: number };
}

export type Trigger = "api" | "nested" | "schedule";

/** Workflow of schedules: a schedule is an instance of it, and its runs have trigger `schedule`. */
export const scheduleWorkflowName = "heddle.schedule";

/** Prefix of the names of the engine's own workflows: users neither define nor start them. */
export const ownWorkflowPrefix = "heddle.";

export function isOwnWorkflowName(workflow: string): boolean {
  return workflow.startsWith(ownWorkflowPrefix);
}

/** Prefix of the names of workflows that run one job by itself, and of no others. */
export const jobWorkflowPrefix = "job:";

export function isJobWorkflowName(workflow: string): boolean {
  return workflow.startsWith(jobWorkflowPrefix);
}

/** Takes a job's name, or its id. */
export function jobWorkflowName(job: string): string {
  return `${jobWorkflowPrefix}${job}`;
}

/** The end of an instance: unfinished tasks become `Canceled` (instance-ended), running ones `Stopped`. */
export interface InstanceEnded {
  readonly type: "InstanceEnded";
  readonly status: EndStatus;
  readonly reason?: string;
  /** Return value of a code workflow, or its failure. */
  readonly output?: Payload;
  readonly failure?: Failure;
}

/**
 * An ended instance continues under a new generation: retry, re-run from a node, or a failed node set right by a user.
 */
export interface InstanceReopened {
  readonly type: "InstanceReopened";
  readonly generation: number;
  /** Tasks that run again. */
  readonly reset: readonly number[];
  /** Nested workflows of these that start a new child instead of retrying the one they have, and maps that list their items anew. */
  readonly anew?: readonly number[];
  /** Sub-tasks, also those that users added, whose parent runs again and will generate its own. */
  readonly removed?: readonly number[];
  /** Failed tasks and the status that the user has set for each. */
  readonly settled?: readonly SettledByUser[];
  readonly params?: { readonly task: number; readonly params: string };
  readonly deadline?: number;
  /** Parent to report to, of a child that its parent retries. */
  readonly parent?: ParentAddress;
}

export interface SettledByUser {
  readonly task: number;
  readonly status: "Success" | "Skipped";
  readonly output?: Payload;
  /** The out-edges that this result of a decision does not take. */
  readonly edgesOff?: readonly number[];
}

/** Running tasks were stopped because the instance ends; or, with a failure, a user stopped one task before its end. */
export interface TasksStopped {
  readonly type: "TasksStopped";
  readonly tasks: readonly number[];
  readonly failure?: Failure;
}

/** A patch of the context: top-level keys overwrite, null removes. */
export type ContextPatch = Readonly<Record<string, Payload | null>>;

export interface TaskStarted {
  readonly type: "TaskStarted";
  readonly task: number;
  readonly attempt: number;
  readonly worker: string;
  readonly startedAt: number;
}

/**
 * The worker that ran the attempt, and since when. Absent where nothing ran: a decision, a nested workflow, a job never
 * started.
 */
export interface Execution {
  readonly worker?: string;
  readonly startedAt?: number;
}

/** The job has returned without a result: whoever has the token of the attempt completes or fails the task from outside. */
export interface TaskAwaitsCompletion extends Execution {
  readonly type: "TaskAwaitsCompletion";
  readonly task: number;
  readonly attempt: number;
  /** Time at which the attempt times out. */
  readonly deadline: number;
}

export interface TaskSucceeded extends Execution {
  readonly type: "TaskSucceeded";
  readonly task: number;
  readonly attempt: number;
  readonly output?: Payload;
  readonly patch?: ContextPatch;
  /** Sub-tasks generated by this attempt, numbered on from the instance's last task. */
  readonly subTasks?: readonly NodeSpec[];
}

/** The details of the last heartbeat of an attempt that did not succeed, for the attempt that follows: JSON text. */
export interface LastHeartbeat {
  readonly heartbeat?: string;
}

export interface TasksWithdrawn {
  readonly type: "TasksWithdrawn";
  readonly tasks: readonly number[];
  /** The details of the last heartbeats of those that their worker has stopped, by task: JSON texts. */
  readonly heartbeats?: Readonly<Record<number, string>>;
}

export interface TaskInterrupted extends LastHeartbeat {
  readonly type: "TaskInterrupted";
  readonly task: number;
  readonly attempt: number;
}

export interface TaskFailed extends Execution, LastHeartbeat {
  readonly type: "TaskFailed";
  readonly task: number;
  readonly attempt: number;
  readonly failure: Failure;
  readonly timedOut?: true;
  /** True if the child could not be started, or is gone: another attempt starts a new child instead of retrying it. */
  readonly isChildMissing?: true;
  /** Time at which the next attempt is due; absent: this failure is final. */
  readonly retryAt?: number;
}

export interface DecisionMade {
  readonly type: "DecisionMade";
  readonly task: number;
  /** JSON text of what the expression gave. */
  readonly result: string;
  /** The out-edges not taken, by their number in the definition. */
  readonly edgesOff: readonly number[];
}
