import type { Event } from "./event.ts";

/** The effect of an event on tasks. */
type TaskEffect =
  /** An attempt of the named tasks starts, ends or is lost. */
  | "attempt"
  /** The named tasks change in another way. */
  | "named"
  /** Any task may change. */
  | "all"
  | "none";

/** Only an event that names tasks of the present generation can change those that it names. */
type EffectOf<E> = E extends { readonly task: number } | { readonly tasks: readonly number[] }
  ? Exclude<TaskEffect, "all">
  : Exclude<TaskEffect, "attempt" | "named">;

/** The effect of each event on tasks: an event that is missing here does not compile. */
export const taskEffects: { readonly [Type in Event["type"]]: EffectOf<Extract<Event, { readonly type: Type }>> } = {
  TaskStarted: "attempt",
  TaskAwaitsCompletion: "attempt",
  TaskSucceeded: "attempt",
  TaskFailed: "attempt",
  TaskInterrupted: "attempt",
  TasksStopped: "attempt",
  DecisionMade: "attempt",
  ChildStarted: "attempt",
  MapStarted: "attempt",
  ItemsAdded: "named",
  TasksScheduled: "named",
  TasksWithdrawn: "named",
  RetriesDue: "named",
  TasksSkipped: "named",
  TasksCanceled: "named",
  TaskParamsUpdated: "named",
  ChildDetached: "named",
  InstanceStarted: "all",
  InstanceEnded: "all",
  InstanceReopened: "all",
  // A sub-task changes what waits for its parent; a task of code changes no other.
  TaskAdded: "all",
  // The task succeeded when its child was detached, perhaps in an earlier generation.
  DetachedChildEnded: "none",
  InstanceCreated: "none",
  InstanceContinued: "none",
  InstanceTimedOut: "none",
  PauseRequested: "none",
  InstancePaused: "none",
  InstanceResumed: "none",
  ParentChanged: "none",
  ContextPatched: "none",
  CancelRequested: "none",
  CancelHeeded: "none",
  CancelSent: "none",
  TimerSet: "none",
  TimerFired: "none",
  TimerCanceled: "none",
  EventRaised: "none",
  EventSent: "none",
  UpdateRequested: "none",
  UpdateAnswered: "none",
  CustomStatusSet: "none",
  ReactionStarted: "none",
  ReactionEnded: "none",
  PatchMarked: "none",
};
