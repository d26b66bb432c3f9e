import { assert, unreachable } from "../../base/assert.ts";
import { localName } from "../../base/namespace.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { Event, KeptEvent, KeptUpdate } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { Payload } from "../payload.ts";
import { kindOf, type TaskKind } from "../task-definition.ts";

/** A step that a workflow's code takes. Each step leaves one event, by which it is recognised in a replay. */
export type Step = OrdinaryStep | LastStep;

type OrdinaryStep =
  /**
   * An activity. With a refusal it fails at once and is not run: whether this process can run it is not known from any
   * history.
   */
  | { readonly type: "activity"; readonly node: NodeSpec; readonly refusal?: Failure }
  | { readonly type: "child"; readonly node: NodeSpec; readonly childId?: string; readonly isDetached: boolean }
  | { readonly type: "timer"; readonly dueAt: number }
  | { readonly type: "cancel-timer"; readonly timer: number }
  | { readonly type: "event"; readonly to: string; readonly name: string; readonly data?: string }
  | { readonly type: "cancel-instance"; readonly to: string; readonly reason: string }
  /** Takes a cancel that was held because the code was compensating a saga or was absent. */
  | { readonly type: "heed-cancel" }
  | { readonly type: "custom-status"; readonly status: string | null }
  | { readonly type: "patch"; readonly patch: string }
  | { readonly type: "answer"; readonly update: string; readonly output?: Payload; readonly failure?: Failure };

/**
 * The last step of the code. An instance may also end for other reasons, so its end alone does not prove that its code
 * has ended.
 */
export type LastStep =
  | {
      readonly type: "continue";
      readonly input?: Payload;
      readonly events: readonly KeptEvent[];
      /** Updates that the code has not seen: the next generation answers them. */
      readonly updates?: readonly KeptUpdate[];
    }
  | { readonly type: "complete"; readonly output?: Payload }
  | { readonly type: "fail"; readonly failure: Failure }
  /** The code has completed the requested cancel. */
  | { readonly type: "cancel"; readonly reason: string };

/** Properties by which steps are compared: kind, name and input. */
export interface StepIdentity {
  readonly kind: Step["type"];
  readonly name: string;
  /** JSON text; left out where the input does not matter. */
  readonly input?: string;
}

export function identityOf(step: Step): StepIdentity {
  switch (step.type) {
    case "activity":
      return { kind: step.type, name: nameOf(step.node), input: step.node.nodeParams ?? "" };
    case "child":
      return { kind: step.type, name: nameOf(step.node), input: step.node.nodeParams ?? "" };
    case "event":
      return { kind: step.type, name: `${step.name} to ${localName(step.to)}` };
    case "cancel-instance":
      return { kind: step.type, name: localName(step.to) };
    case "patch":
      return { kind: step.type, name: step.patch };
    case "answer":
      return { kind: step.type, name: step.update };
    default:
      return { kind: step.type, name: "" };
  }
}

/** The type of the step by which code asks for a task of this kind. */
export function taskStepOf(kind: TaskKind): "activity" | "child" {
  assert(kind !== "decision" && kind !== "map", "code decides and maps by itself");
  switch (kind) {
    case "job":
      return "activity";
    case "nested":
      return "child";
    default:
      return unreachable(kind, "the kind of a task");
  }
}

/** The step that left this event; undefined for an event that no step leaves. */
export function recordedIdentity(event: Event): StepIdentity | undefined {
  switch (event.type) {
    case "TaskAdded": {
      const kind = taskStepOf(kindOf(event.node));
      return { kind, name: nameOf(event.node), input: event.node.nodeParams ?? "" };
    }
    case "EventSent":
      return { kind: "event", name: `${event.name} to ${localName(event.to)}` };
    case "CancelSent":
      return { kind: "cancel-instance", name: localName(event.to) };
    case "PatchMarked":
      return { kind: "patch", name: event.patch };
    case "UpdateAnswered":
      return { kind: "answer", name: event.update };
    default: {
      const kind = recordedKinds[event.type];
      return kind === undefined ? undefined : { kind, name: "" };
    }
  }
}

/** Steps without a name, by the event that each leaves; undefined for events that no step leaves. */
const recordedKinds: Readonly<Record<Exclude<Event["type"], NamedStepEvent>, Step["type"] | undefined>> = {
  TimerSet: "timer",
  TimerCanceled: "cancel-timer",
  CancelHeeded: "heed-cancel",
  CustomStatusSet: "custom-status",
  InstanceCreated: undefined,
  InstanceStarted: undefined,
  InstanceContinued: undefined,
  InstanceEnded: undefined,
  InstanceReopened: undefined,
  InstanceTimedOut: undefined,
  PauseRequested: undefined,
  InstancePaused: undefined,
  InstanceResumed: undefined,
  ParentChanged: undefined,
  ContextPatched: undefined,
  CancelRequested: undefined,
  TasksScheduled: undefined,
  TaskStarted: undefined,
  TaskAwaitsCompletion: undefined,
  TaskSucceeded: undefined,
  TaskFailed: undefined,
  TaskInterrupted: undefined,
  TasksWithdrawn: undefined,
  RetriesDue: undefined,
  TasksStopped: undefined,
  TasksSkipped: undefined,
  TasksCanceled: undefined,
  TaskParamsUpdated: undefined,
  DecisionMade: undefined,
  MapStarted: undefined,
  ItemsAdded: undefined,
  ChildStarted: undefined,
  ChildDetached: undefined,
  DetachedChildEnded: undefined,
  TimerFired: undefined,
  EventRaised: undefined,
  UpdateRequested: undefined,
  ReactionStarted: undefined,
  ReactionEnded: undefined,
};

type NamedStepEvent = "TaskAdded" | "EventSent" | "CancelSent" | "PatchMarked" | "UpdateAnswered";

function nameOf(node: NodeSpec): string {
  return node.jobName ?? node.workflowName ?? "";
}

export function isLast(step: Step): step is LastStep {
  return step.type === "continue" || step.type === "complete" || step.type === "fail" || step.type === "cancel";
}

/** Formats a step for messages. */
export function describeStep({ kind, name, input }: StepIdentity): string {
  const what = name === "" ? kind : `${kind} "${name}"`;
  if (input === undefined || input === "") return what;
  return `${what} with ${input.length <= inputShownMax ? input : `${input.slice(0, inputShownMax)}…`}`;
}

const inputShownMax = 200;
