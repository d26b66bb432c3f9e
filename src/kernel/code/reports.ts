import { EngineError } from "../../base/error.ts";
import type { Execution, LastHeartbeat } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { ChildEnded, AttemptEnded, AttemptsWithdrawn, CompleteTask, Outcome } from "../input.ts";
import { refuseLargeOutput } from "../size-limits.ts";
import {
  awaitsEvent,
  childFailure,
  completionTimeout,
  executionOf,
  type FailedAttempt,
  failedEvent,
  interruptedEvent,
  isCurrent,
  lossOf,
  succeededEvent,
  takeCompletion,
} from "../task-reports.ts";
import type { CodeTransition } from "./code-transition.ts";
import { schedule } from "./advance.ts";

// Reports about activities and children. A report of an older attempt or generation, or of a stopped task, is dropped.

export function onAttemptEnded(transition: CodeTransition, report: AttemptEnded): void {
  if (!isCurrent(transition.state, report)) return transition.drop();
  const { task, outcome } = report;
  const execution = executionOf(report);
  const { state, identity, turn } = transition;
  if (outcome.kind === "success") succeed(transition, task, outcome, execution);
  else if (outcome.kind === "lost") lose(transition, task, outcome, execution);
  else if (outcome.kind === "awaits")
    transition.emit(awaitsEvent(state, task, outcome.timeoutMs, { execution, limits: identity.limits, turn }));
  else {
    const { failure, heartbeat } = outcome;
    fail(transition, task, failure, { execution, heartbeat, timedOut: outcome.kind === "timeout" });
  }
  schedule(transition);
}

/** `COMPLETION_LATE`. */
export function onCompletion(transition: CodeTransition, input: CompleteTask): void {
  const { task, result } = input;
  takeCompletion(transition, input);
  if (result.kind === "success") succeed(transition, task, result, {});
  else fail(transition, task, result.failure);
  schedule(transition);
}

/** Ends the attempts that nobody has completed from outside in time. */
export function timeOutCompletions(transition: CodeTransition): void {
  const { state, turn } = transition;
  for (const task of state.completionsDue.takeDue(turn.at)) {
    fail(transition, task, completionTimeout(state, task), { timedOut: true });
  }
}

function lose(transition: CodeTransition, task: number, { heartbeat }: LastHeartbeat, execution: Execution): void {
  const { state, identity } = transition;
  const failure = lossOf(state, task, identity.limits.interruptionsMax);
  if (failure !== undefined) return fail(transition, task, failure, { execution, heartbeat });
  transition.emit(interruptedEvent(state, task, heartbeat));
}

export function onAttemptsWithdrawn(transition: CodeTransition, report: AttemptsWithdrawn): void {
  transition.noteWithdrawal(report);
  schedule(transition);
}

export function onChildEnded(transition: CodeTransition, report: ChildEnded): void {
  const { generation } = report;
  if (transition.state.hasDetached(report))
    return transition.emit({ type: "DetachedChildEnded", generation, task: report.task });
  if (!isCurrent(transition.state, report)) return transition.drop();
  const { task, status, output } = report;
  if (status !== "Success") {
    return fail(transition, task, childFailure(transition.state, report), { isChildMissing: report.isMissing });
  }
  succeed(transition, task, output === undefined ? { kind: "success" } : { kind: "success", output }, {});
}

function succeed(
  transition: CodeTransition,
  task: number,
  outcome: Outcome & { kind: "success" },
  execution: Execution,
): void {
  const { state } = transition;
  const { name } = state.definition(task);
  try {
    if (outcome.output !== undefined) refuseLargeOutput(outcome.output, `the output of activity "${name}"`);
    refuseDagResults(outcome, name);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return fail(transition, task, { type: error.code, message: error.message, retryable: false }, { execution });
  }
  transition.emit(succeededEvent(state, task, outcome, execution));
}

/** A job may run in either kind of workflow; a result that only a DAG can use fails the activity instead of being ignored. */
function refuseDagResults({ patch, subTasks }: Outcome & { kind: "success" }, name: string): void {
  if (patch === undefined && subTasks === undefined) return;
  const what = patch === undefined ? "generated sub-tasks" : "changed the context";
  throw new EngineError(
    "TASK_INVALID",
    `activity "${name}" ${what}, which only a task of a DAG can do; give the result back instead`,
  );
}

function fail(transition: CodeTransition, task: number, failure: Failure, how: Partial<FailedAttempt> = {}): void {
  transition.emit(failedEvent(transition.state, { ...how, task, failure }, transition.turn));
}
