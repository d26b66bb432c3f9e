import { EngineError } from "../../base/error.ts";
import type { Execution } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { ChildEnded, AttemptEnded, AttemptsWithdrawn, Outcome } from "../input.ts";
import { refuseLargeOutput } from "../size-limits.ts";
import {
  childFailure,
  executionOf,
  type FailedAttempt,
  failedEvent,
  isCurrent,
  lossOf,
  succeededEvent,
} from "../task-reports.ts";
import type { CodeTransition } from "./code-transition.ts";
import { schedule } from "./take-steps.ts";

// What is heard about activities and children. A report of an older attempt or generation, or of what was stopped, is dropped.

export function completed(step: CodeTransition, report: AttemptEnded): void {
  if (!isCurrent(step.state, report)) return step.drop();
  const { task, outcome } = report;
  const execution = executionOf(report);
  if (outcome.kind === "success") succeed(step, task, outcome, execution);
  else if (outcome.kind === "lost") lose(step, task, execution);
  else fail(step, task, outcome.failure, { execution, timedOut: outcome.kind === "timeout" });
  schedule(step);
}

function lose(step: CodeTransition, task: number, execution: Execution): void {
  const { state, identity } = step;
  const failure = lossOf(state, task, identity.limits.interruptionsMax);
  if (failure !== undefined) return fail(step, task, failure, { execution });
  step.emit({ type: "TaskInterrupted", task, attempt: state.attempt(task) });
}

export function withdrawn(step: CodeTransition, report: AttemptsWithdrawn): void {
  step.noteWithdrawal(report);
  schedule(step);
}

export function childEnded(step: CodeTransition, report: ChildEnded): void {
  const { generation } = report;
  if (step.state.hasDetached(report)) return step.emit({ type: "DetachedChildEnded", generation, task: report.task });
  if (!isCurrent(step.state, report)) return step.drop();
  const { task, status, output } = report;
  if (status !== "Success") {
    return fail(step, task, childFailure(step.state, report), { isChildMissing: report.isMissing });
  }
  succeed(step, task, output === undefined ? { kind: "success" } : { kind: "success", output }, {});
}

function succeed(
  step: CodeTransition,
  task: number,
  outcome: Outcome & { kind: "success" },
  execution: Execution,
): void {
  const { state } = step;
  const { name } = state.definition(task);
  try {
    if (outcome.output !== undefined) refuseLargeOutput(outcome.output, `the output of activity "${name}"`);
    refuseDagWishes(outcome, name);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return fail(step, task, { type: error.code, message: error.message, retryable: false }, { execution });
  }
  step.emit(succeededEvent(state, task, outcome, execution));
}

/** A job may run in either kind of workflow; what only a DAG can do for it is not passed over in silence. */
function refuseDagWishes({ patch, subTasks }: Outcome & { kind: "success" }, name: string): void {
  if (patch === undefined && subTasks === undefined) return;
  const what = patch === undefined ? "generated sub-tasks" : "changed the context";
  throw new EngineError(
    "TASK_INVALID",
    `activity "${name}" ${what}, which only a task of a DAG can do; give the result back instead`,
  );
}

function fail(step: CodeTransition, task: number, failure: Failure, how: Partial<FailedAttempt> = {}): void {
  step.emit(failedEvent(step.state, { ...how, task, failure }, step.turn));
}
