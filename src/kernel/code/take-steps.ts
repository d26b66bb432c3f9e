import { unreachable } from "../../base/assert.ts";
import { childIdOf, type ParentAddress } from "../address.ts";
import type { StartChild } from "../command.ts";
import { childWorkflow } from "../task-definition.ts";
import type { LastStep, Step } from "./step.ts";
import { isLast } from "./step.ts";
import type { CodeTransition } from "./code-transition.ts";

/** What the code does becomes events, and what has to be done for it. A last step ends this run of the code. */
export function takeSteps(step: CodeTransition, steps: readonly Step[]): void {
  const { state, identity } = step;
  if (state.size + state.timers + steps.length > identity.limits.stepsMax) return tooLong(step);
  for (const taken of steps) {
    if (isLast(taken)) return takeLast(step, taken);
    takeOne(step, taken);
  }
  schedule(step);
}

function takeOne(step: CodeTransition, taken: Exclude<Step, LastStep>): void {
  switch (taken.type) {
    case "activity":
      return addActivity(step, taken);
    case "child":
      return addChild(step, taken);
    case "timer":
      return step.emit({ type: "TimerSet", timer: step.state.timers, dueAt: taken.dueAt });
    case "cancel-timer":
      return step.emit({ type: "TimerCanceled", timer: taken.timer });
    case "event": {
      const { to, name, data } = taken;
      step.emit({ type: "EventSent", to, name, ...(data !== undefined && { data }) });
      return step.command({ type: "SendEvent", to, name, ...(data !== undefined && { data }) });
    }
    case "cancel-instance": {
      const { to, reason } = taken;
      step.emit({ type: "CancelSent", to, reason });
      return step.command({ type: "TellChild", childId: to, tell: { type: "CancelInstance", reason } });
    }
    case "heed-cancel": {
      const reason = step.state.cancelReason ?? "";
      return step.cancel(reason, { type: "CancelHeeded" });
    }
    case "custom-status":
      return step.emit({ type: "CustomStatusSet", status: taken.status });
    case "patch":
      return step.emit({ type: "PatchMarked", patch: taken.patch });
    case "answer": {
      const { update, output, failure } = taken;
      return step.emit({
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

function addActivity(step: CodeTransition, { node, refusal: failure }: Extract<Step, { type: "activity" }>): void {
  const task = step.state.size;
  step.emit({ type: "TaskAdded", node });
  if (failure !== undefined) step.emit({ type: "TaskFailed", task, attempt: 0, failure });
}

/** A child is asked for in the same turn. One that nobody waits for is done with at once; its parent's end concerns it all the same, unless it is to be left alone. */
function addChild(step: CodeTransition, { node, childId: ownId, isDetached }: Extract<Step, { type: "child" }>): void {
  const { state } = step;
  const task = state.size;
  step.emit({ type: "TaskAdded", node });
  const childId = ownId ?? childIdOf(step.address, task);
  const given = { ...inputOf(node.nodeParams), ...(ownId !== undefined && { isGivenId: true as const }) };
  if (!isDetached) return startChild(step, task, childId, given);
  const { whenParentEnds = "terminate" } = node;
  const child = { task, childId, of: childWorkflow(state.definition(task)), ...given };
  if (whenParentEnds === "leave") {
    step.emit({ type: "ChildDetached", task, childId });
    return step.command({ type: "StartChild", ...child });
  }
  step.emit({ type: "ChildDetached", task, childId, whenParentEnds });
  step.command({ type: "StartChild", ...child, parent: addressAsParent(step, task) });
}

function addressAsParent(step: CodeTransition, task: number): ParentAddress {
  const { state, address } = step;
  return { ...address, task, attempt: state.attempt(task), depth: (state.parent?.depth ?? 0) + 1 };
}

type Given = Pick<StartChild, "input" | "isGivenId">;

function startChild(step: CodeTransition, task: number, childId: string, given?: Given): void {
  const { state } = step;
  step.emit({ type: "TasksScheduled", tasks: [task] });
  const parent = addressAsParent(step, task);
  const of = childWorkflow(state.definition(task));
  step.emit({ type: "ChildStarted", task, attempt: parent.attempt, childId });
  if (given !== undefined) step.command({ type: "StartChild", task, childId, of, parent, ...given });
  else step.command({ type: "TellChild", childId, tell: { type: "RetryInstance", parent } });
}

function inputOf(params: string | undefined): { input?: string } {
  return params === undefined ? {} : { input: params };
}

/** All that is ready, in an instance that took it over from another: children too are this one's own. */
export function scheduleAnew(step: CodeTransition): void {
  const { state } = step;
  for (const task of state.readyTasks()) {
    if (state.definition(task).kind === "nested")
      startChild(step, task, childIdOf(step.address, task), inputOf(state.params(task)));
  }
  schedule(step);
}

/** A child that failed before goes on where it stopped; one that is not there is begun after all. */
function childAgain(step: CodeTransition, task: number): void {
  const { state } = step;
  const { childId = "", isChildMissing } = state.recordOf(task);
  const isGivenId = childId !== childIdOf(step.address, task);
  const given = { ...inputOf(state.params(task)), ...(isGivenId && { isGivenId }) };
  startChild(step, task, childId, isChildMissing ? given : undefined);
}

/** All that is ready, activities within their limit. */
export function schedule(step: CodeTransition): void {
  const { state } = step;
  if (state.status !== "Running" || state.readyCount === 0) return;
  const isJob = (task: number): boolean => state.definition(task).kind === "job";
  const ready = state.startableTasks();
  const jobs = ready.every(isJob) ? ready : ready.filter(isJob);
  for (const task of ready) if (!isJob(task)) childAgain(step, task);
  if (jobs.length === 0) return;
  step.emit({ type: "TasksScheduled", tasks: jobs });
  step.command({ type: "RunTasks", tasks: jobs });
}

/** An instance whose time is up ends as failed, whatever its code makes of it. */
function takeLast(step: CodeTransition, last: LastStep): void {
  const { isTimedOut, cancelReason = "" } = step.state;
  if (isTimedOut && last.type !== "fail") return step.end("Failed", { reason: cancelReason });
  switch (last.type) {
    case "complete":
      return step.end("Success", last.output === undefined ? {} : { output: last.output });
    case "fail":
      return step.end("Failed", { reason: last.failure.message, failure: last.failure });
    case "cancel":
      return step.end("Terminated", { reason: last.reason });
    case "continue":
      return continueAsNew(step, last);
  }
}

/**
 * What the code left running belongs to a generation that is over. A cancel that it has not heeded is for the next. So are
 * children that nobody waits for: the instance has not ended.
 */
function continueAsNew(
  step: CodeTransition,
  { input, events, updates = [] }: Extract<LastStep, { type: "continue" }>,
): void {
  const { state } = step;
  step.stopGeneration("the parent instance has begun anew");
  const { workflow, version, createdAt, parent, trigger, traceparent, customStatus } = state;
  const { deadline, compensationMs } = state;
  const reason = state.isCancelHeld ? state.cancelReason : undefined;
  const answers = state.answersToKeep({ max: answersKeptMax, since: step.turn.at - answersKeptMs });
  const children = state.detachedChildren;
  step.emit({
    type: "InstanceContinued",
    workflow,
    version,
    generation: state.generation + 1,
    createdAt,
    trigger,
    ...(traceparent !== undefined && { traceparent }),
    ...(input !== undefined && { input }),
    ...(parent !== undefined && { parent }),
    ...(deadline !== undefined && { deadline }),
    ...(customStatus !== undefined && { customStatus }),
    ...(events.length > 0 && { events }),
    ...(answers.length > 0 && { answers }),
    ...(children.length > 0 && { children }),
  });
  for (const update of updates) step.emit({ type: "UpdateRequested", ...update });
  if (compensationMs !== undefined)
    step.emit({ type: "InstanceTimedOut", compensationMs, ...(deadline !== undefined && { deadline }) });
  if (reason !== undefined) step.emit({ type: "CancelRequested", reason, isHeld: true });
}

/** So many answers outlive the generation that gave them; and all that were given so shortly before, for nobody may have heard them yet. */
const answersKeptMax = 20;
const answersKeptMs = 1000;

function tooLong(step: CodeTransition): void {
  const message =
    `the workflow has taken more than ${step.identity.limits.stepsMax} steps; ` +
    `let long-lived code begin anew now and then with ctx.continueAsNew()`;
  step.end("Failed", { reason: message, failure: { type: "WORKFLOW_TOO_LONG", message, retryable: false } });
}
