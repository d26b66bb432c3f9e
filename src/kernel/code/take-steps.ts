import { unreachable } from "../../base/assert.ts";
import { childIdOf } from "../address.ts";
import { recordFlags } from "../flags.ts";
import { childWorkflow } from "../task-definition.ts";
import type { LastStep, Step } from "./step.ts";
import { isLast } from "./step.ts";
import { addressAsParent, inputOf, schedule, startChild } from "./advance.ts";
import type { CodeTransition } from "./code-transition.ts";
import { cancelWaits, end, stopGeneration } from "./ending.ts";

/** Records the steps of the code as events, and schedules the tasks they ask for. A last step ends this run of the code. */
export function takeSteps(transition: CodeTransition, steps: readonly Step[]): void {
  const { state, identity } = transition;
  if (state.size + state.timers + steps.length > identity.limits.stepsMax) return tooLong(transition);
  for (const taken of steps) {
    if (isLast(taken)) return takeLast(transition, taken);
    takeOne(transition, taken);
  }
  schedule(transition);
}

function takeOne(transition: CodeTransition, taken: Exclude<Step, LastStep>): void {
  switch (taken.type) {
    case "activity":
      return addActivity(transition, taken);
    case "child":
      return addChild(transition, taken);
    case "timer":
      return transition.emit({ type: "TimerSet", timer: transition.state.timers, dueAt: taken.dueAt });
    case "cancel-timer":
      return transition.emit({ type: "TimerCanceled", timer: taken.timer });
    case "event": {
      const { to, name, data } = taken;
      transition.emit({ type: "EventSent", to, name, ...(data !== undefined && { data }) });
      return transition.command({ type: "SendEvent", to, name, ...(data !== undefined && { data }) });
    }
    case "cancel-instance": {
      const { to, reason } = taken;
      transition.emit({ type: "CancelSent", to, reason });
      return transition.command({ type: "CancelOther", to, reason });
    }
    case "heed-cancel": {
      const reason = transition.state.cancelReason ?? "";
      return cancelWaits(transition, reason, { type: "CancelHeeded" });
    }
    case "custom-status":
      return transition.emit({ type: "CustomStatusSet", status: taken.status });
    case "patch":
      return transition.emit({ type: "PatchMarked", patch: taken.patch });
    case "answer": {
      const { update, output, failure } = taken;
      return transition.emit({
        type: "UpdateAnswered",
        update,
        ...(output !== undefined && { output }),
        ...(failure !== undefined && { failure }),
      });
    }
    default:
      return unreachable(taken, "a step of a workflow's code");
  }
}

function addActivity(
  transition: CodeTransition,
  { node, refusal: failure }: Extract<Step, { type: "activity" }>,
): void {
  const task = transition.state.size;
  transition.emit({ type: "TaskAdded", node });
  if (failure !== undefined) transition.emit({ type: "TaskFailed", task, attempt: 0, failure });
}

/** Starts a child in the same turn. A detached child counts as done at once; it still ends with its parent, unless it is left alone. */
function addChild(
  transition: CodeTransition,
  { node, childId: ownId, isDetached }: Extract<Step, { type: "child" }>,
): void {
  const { state } = transition;
  const task = state.size;
  transition.emit({ type: "TaskAdded", node });
  const childId = ownId ?? childIdOf(transition.address, task);
  const given = { ...inputOf(node.nodeParams), ...(ownId !== undefined && { isGivenId: true as const }) };
  if (!isDetached) return startChild(transition, task, childId, given);
  const { whenParentEnds = "terminate" } = node;
  const child = { task, childId, of: childWorkflow(state.definition(task)), ...given };
  if (whenParentEnds === "leave") {
    transition.emit({ type: "ChildDetached", task, childId });
    return transition.command({ type: "StartChild", ...child });
  }
  transition.emit({ type: "ChildDetached", task, childId, whenParentEnds });
  transition.command({ type: "StartChild", ...child, parent: addressAsParent(transition, task) });
}

/** An instance that has timed out ends as failed, even if its code returns. */
function takeLast(transition: CodeTransition, last: LastStep): void {
  const { isTimedOut, cancelReason = "" } = transition.state;
  if (isTimedOut && last.type !== "fail") return end(transition, "Failed", { reason: cancelReason });
  switch (last.type) {
    case "complete":
      return end(transition, "Success", last.output === undefined ? {} : { output: last.output });
    case "fail":
      return end(transition, "Failed", { reason: last.failure.message, failure: last.failure });
    case "cancel":
      return end(transition, "Terminated", { reason: last.reason });
    case "continue":
      return continueAsNew(transition, last);
  }
}

/**
 * Starts the next generation. Tasks that the code left running belong to the generation that is over. A cancel that it has
 * not heeded passes to the next generation, and so do detached children: the instance has not ended.
 */
function continueAsNew(
  transition: CodeTransition,
  { input, events, updates = [] }: Extract<LastStep, { type: "continue" }>,
): void {
  const { state } = transition;
  stopGeneration(transition, "the parent instance has begun anew");
  const { workflow, version, createdAt, parent, trigger, traceparent, app, customStatus } = state;
  const { deadline, compensationMs } = state;
  const reason = state.isCancelHeld ? state.cancelReason : undefined;
  const answers =
    state.updates?.answersToKeep({ max: answersKeptMax, since: transition.turn.at - answersKeptMs }) ?? [];
  const children = state.detachedChildren;
  transition.emit({
    type: "InstanceContinued",
    workflow,
    version,
    generation: state.generation + 1,
    createdAt,
    trigger,
    ...(traceparent !== undefined && { traceparent }),
    ...(app !== undefined && { app }),
    ...(input !== undefined && { input }),
    ...(parent !== undefined && { parent }),
    ...(deadline !== undefined && { deadline }),
    ...(customStatus !== undefined && { customStatus }),
    ...(events.length > 0 && { events }),
    ...(answers.length > 0 && { answers }),
    ...(children.length > 0 && { children }),
    ...recordFlags(transition.identity.flags),
  });
  for (const update of updates) transition.emit({ type: "UpdateRequested", ...update });
  if (compensationMs !== undefined)
    transition.emit({ type: "InstanceTimedOut", compensationMs, ...(deadline !== undefined && { deadline }) });
  if (reason !== undefined) transition.emit({ type: "CancelRequested", reason, isHeld: true });
}

/** The next generation keeps this many answers, and all that were given this shortly before, because the caller may not have received them yet. */
const answersKeptMax = 20;
const answersKeptMs = 1000;

function tooLong(transition: CodeTransition): void {
  const message =
    `the workflow has taken more than ${transition.identity.limits.stepsMax} steps; ` +
    `let long-lived code begin anew now and then with ctx.continueAsNew()`;
  end(transition, "Failed", { reason: message, failure: { type: "WORKFLOW_TOO_LONG", message, retryable: false } });
}
