import { earlier, momentAfter } from "../../base/time-limits.ts";
import type { Writable } from "../../base/writable.ts";
import { withdrawJobs } from "../dispatched-jobs.ts";
import type { InstanceCreated } from "../event.ts";
import { recordFlags } from "../flags.ts";
import type { Fork, PauseInstance, Refusal, RetryInstance, StartInstance, TimerDue } from "../input.ts";
import { followParent } from "../parent.ts";
import { refuseIfEnded, refuseIfStarted, stateRefusal } from "../refusals.ts";
import { refuseDeep } from "../size-limits.ts";
import { hasEnded } from "../status.ts";
import { schedule, scheduleAnew } from "./advance.ts";
import type { CodeState } from "./code-state.ts";
import type { CodeTransition } from "./code-transition.ts";
import { end, tellChildren } from "./ending.ts";
import { timeOutCompletions } from "./reports.ts";

/** An activity may take an hour by default, and so may the one that compensates it. */
const compensationMsMin = 3_600_000;

export function start(transition: CodeTransition, options: StartInstance): void {
  const { workflow, version, generation, parent, trigger, traceparent, app, input, fork, admission } = options;
  refuseIfStarted(transition.state, transition.identity.id);
  refuseDeep(workflow, parent);
  const created: Writable<InstanceCreated> = {
    type: "InstanceCreated",
    workflow,
    version,
    generation,
    context: {},
    maxConcurrentTasks: 0,
    trigger,
  };
  if (parent !== undefined) created.parent = parent;
  if (traceparent !== undefined) created.traceparent = traceparent;
  if (app !== undefined) created.app = app;
  if (input !== undefined) created.input = input;
  if (fork !== undefined) created.forkedFrom = fork.from;
  const { flags } = fork ?? transition.identity;
  if (flags !== undefined && flags.length > 0) created.flags = flags;
  transition.emit(created);
  if (typeof admission === "object") return refuse(transition, admission);
  // A fork is never queued: the events that it copies have no place to wait in.
  if (admission === "queue" && fork === undefined) return;
  transition.emit({ type: "InstanceStarted", ...newDeadline(transition) });
  if (fork !== undefined) copyFork(transition, fork);
}

function refuse(transition: CodeTransition, { refuse: policy, reason }: Refusal): void {
  end(transition, policy === "fail" ? "Failed" : "Terminated", { reason });
}

export function admit(transition: CodeTransition, refusal: Refusal | undefined): void {
  const { status, pausing } = transition.state;
  if (status !== "Ready") return transition.drop();
  if (refusal !== undefined) return refuse(transition, refusal);
  transition.emit({ type: "InstanceStarted", ...newDeadline(transition) });
  if (pausing) transition.emit({ type: "InstancePaused" });
}

/**
 * Copies the events of the instance that this one is forked from. Tasks that were in flight there are scheduled again
 * here; so is a child that waited for another attempt, because that child belongs to the other instance. An instance
 * that runs on under its own id keeps its children, and retries them.
 */
function copyFork(transition: CodeTransition, { from, events }: Fork): void {
  const { state, identity } = transition;
  for (const event of events) transition.emit(event);
  if (state.status === "Paused") transition.emit({ type: "InstanceResumed" });
  const tasks = state.tasksInFlight();
  if (tasks.length > 0) transition.emit({ type: "TasksWithdrawn", tasks });
  const children = [...state.retryWaits.numbers].filter((task) => state.isChild(task));
  if (children.length > 0) transition.emit({ type: "RetriesDue", tasks: children });
  if (from.id === identity.id) schedule(transition);
  else scheduleAnew(transition);
}

function newDeadline({ state, turn }: CodeTransition): { deadline?: number } {
  return state.timeoutMs === undefined ? {} : { deadline: momentAfter(turn.at, state.timeoutMs) };
}

/** Pauses at once, or as soon as the instance has started: nothing more is delivered to the code. */
export function pause(transition: CodeTransition, request: PauseInstance): void {
  const { state } = transition;
  if (state.status === "Ready" && !state.pausing) return transition.emit({ ...request, type: "PauseRequested" });
  if (state.status !== "Running") throw stateRefusal(state, transition.identity.id, "pause");
  transition.emit({ ...request, type: "InstancePaused" });
  withdrawJobs(transition);
  tellChildren(transition, request);
}

/** A deadline that has passed during the pause is due at once, with an input of its own. */
export function resume(transition: CodeTransition): void {
  const { status, pausing } = transition.state;
  if (status !== "Paused" && !pausing) throw stateRefusal(transition.state, transition.identity.id, "resume");
  transition.emit({ type: "InstanceResumed" });
  tellChildren(transition, { type: "ResumeInstance" });
  wakeTasks(transition);
}

export function terminate(transition: CodeTransition, reason: string): void {
  refuseIfEnded(transition.state, transition.identity.id, "terminate");
  end(transition, "Terminated", { reason });
}

/** Runs the code again from the beginning, with the same input. */
export function retryInstance(transition: CodeTransition, { parent: newParent }: RetryInstance): void {
  const { state, identity } = transition;
  const { status, workflow, version, trigger, traceparent, app, input } = state;
  if (status === "Success" || !hasEnded(status)) {
    if (newParent !== undefined) return followParent(transition, newParent);
    throw stateRefusal(state, identity.id, "retry");
  }
  const parent = newParent ?? state.parent;
  transition.emit({
    type: "InstanceContinued",
    workflow,
    version,
    generation: state.generation + 1,
    createdAt: state.createdAt,
    trigger,
    ...(traceparent !== undefined && { traceparent }),
    ...(app !== undefined && { app }),
    ...(input !== undefined && { input }),
    ...(parent !== undefined && { parent }),
    ...newDeadline(transition),
    ...recordFlags(identity.flags),
  });
}

/** Handles what is due: the instance's deadline, its timers, its tasks' retries. */
export function wake(transition: CodeTransition, due: TimerDue): void {
  const { state, turn } = transition;
  if (hasEnded(state.status)) return;
  if (state.deadline !== undefined && turn.at >= state.deadline) timeOut(transition, due);
  else wakeTasks(transition);
}

/** Time at which `wake` has something to do; undefined for none. */
export function nextWake({ status, deadline, timersDue, retryWaits, completionsDue }: CodeState): number | undefined {
  if (hasEnded(status)) return undefined;
  if (status !== "Running") return deadline;
  const taskDue = earlier(retryWaits.earliest(), completionsDue.earliest());
  return earlier(deadline, earlier(timersDue.earliest(), taskDue));
}

/**
 * A timeout is a held cancel: the runtime delivers it to the code like any other, so that a compensation in progress is
 * not cut short, and absent code compensates when it is back.
 */
function timeOut(transition: CodeTransition, { isCodeAbsent }: TimerDue): void {
  const { state, turn } = transition;
  const timeoutMs = state.timeoutMs ?? 0;
  const reason = `the instance did not end within its timeout of ${timeoutMs / 1000} s`;
  if (state.compensationMs !== undefined) {
    const bound = `and its compensation not within a further ${state.compensationMs / 1000} s`;
    return end(transition, "Failed", { reason: `${reason}, ${bound}` });
  }
  if (state.status === "Paused") {
    transition.emit({ type: "InstanceResumed" });
    tellChildren(transition, { type: "ResumeInstance" });
  }
  const compensationMs = Math.max(timeoutMs, compensationMsMin);
  const deadline = isCodeAbsent ? {} : { deadline: momentAfter(turn.at, compensationMs) };
  transition.emit({ type: "InstanceTimedOut", compensationMs, ...deadline });
  transition.emit({ type: "CancelRequested", reason, isHeld: true });
  schedule(transition);
}

function wakeTasks(transition: CodeTransition): void {
  const { state, turn } = transition;
  if (state.status !== "Running") return;
  for (const timer of state.timersDue.takeDue(turn.at)) transition.emit({ type: "TimerFired", timer });
  timeOutCompletions(transition);
  const due = state.retryWaits.takeDue(turn.at);
  if (due.length > 0) transition.emit({ type: "RetriesDue", tasks: due });
  schedule(transition);
}
