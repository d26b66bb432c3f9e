import { EngineError } from "../../base/error.ts";
import type { Execution } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { AttemptEnded, AttemptsWithdrawn, ChildEnded, Outcome } from "../input.ts";
import { refuseLargeContext, refuseLargeOutput } from "../size-limits.ts";
import {
  childFailure,
  executionOf,
  type FailedAttempt,
  failedEvent,
  isAwaited,
  isCurrent,
  lossOf,
  succeededEvent,
} from "../task-reports.ts";
import { isFinished, Phase } from "../task-state.ts";
import { advance, failureReason, withdrawScheduled } from "./advance.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { DecisionEvaluated } from "./dag-input.ts";
import type { DagTransition } from "./dag-transition.ts";
import { decisionEdges, edgesNotTaken } from "./decision.ts";
import { descendants } from "./descendants.ts";
import { end } from "./ending.ts";
import { admitSubTasks } from "./sub-tasks.ts";

// What is heard about tasks. A report of an older attempt, of an ended instance or an unknown task is dropped.

export function completed(step: DagTransition, report: AttemptEnded): void {
  if (!isCurrent(step.state, report)) return step.drop();
  const { task, outcome } = report;
  const execution = executionOf(report);
  if (outcome.kind === "success") succeed(step, task, outcome, execution);
  else if (outcome.kind === "lost") lose(step, task, execution);
  else fail(step, task, outcome.failure, { execution, timedOut: outcome.kind === "timeout" });
  advance(step);
}

export function withdrawn(step: DagTransition, report: AttemptsWithdrawn): void {
  step.noteWithdrawal(report);
  advance(step);
}

export function decided(step: DagTransition, report: DecisionEvaluated): void {
  const { task, value } = report;
  if (!isAwaited(step.state, report)) return step.drop();
  if ("failure" in value) fail(step, task, value.failure);
  else choose(step, task, value.ok);
  advance(step);
}

export function childEnded(step: DagTransition, report: ChildEnded): void {
  if (!isCurrent(step.state, report)) return step.drop();
  const { task, status, output, patch } = report;
  if (status === "Success") {
    const result = { ...(output !== undefined && { output }), ...(patch !== undefined && { patch }) };
    succeed(step, task, { kind: "success", ...result });
  } else {
    fail(step, task, childFailure(step.state, report), { isChildMissing: report.isMissing });
  }
  advance(step);
}

function succeed(
  step: DagTransition,
  task: number,
  outcome: Outcome & { kind: "success" },
  execution: Execution = {},
): void {
  const { state, identity } = step;
  const { output, patch } = outcome;
  let subTasks: readonly NodeSpec[] | undefined = outcome.subTasks;
  try {
    if (output !== undefined) refuseLargeOutput(output, `the output of task "${state.definition(task).name}"`);
    if (patch !== undefined) refuseLargeContext(state.context.patched(patch), "the context with this task's patch");
    if (subTasks !== undefined) subTasks = admitSubTasks(state, task, subTasks, identity.limits.subTasksMax);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return fail(step, task, { type: error.code, message: error.message, retryable: false }, { execution });
  }
  step.emit(succeededEvent(state, task, { ...outcome, ...(subTasks !== undefined && { subTasks }) }, execution));
}

function choose(step: DagTransition, task: number, result: unknown): void {
  const choice = edgesNotTaken(result, decisionEdges(step.state.graph, task));
  if ("failure" in choice) return fail(step, task, choice.failure);
  const text = typeof result === "bigint" ? result.toString() : JSON.stringify(result);
  step.emit({ type: "DecisionMade", task, result: text, edgesOff: choice.off });
}

/** After a failure nothing new starts, but what was running finishes, if need be in another process. */
function finishLost(step: DagTransition, task: number): void {
  const { state } = step;
  if (!state.failing || state.pausing || state.status !== "Running") return;
  step.emit({ type: "TasksScheduled", tasks: [task] });
  step.command({ type: "RunTasks", tasks: [task] });
}

function lose(step: DagTransition, task: number, execution: Execution): void {
  const { state, identity } = step;
  const failure = lossOf(state, task, identity.limits.interruptionsMax);
  if (failure !== undefined) return fail(step, task, failure, { execution });
  const wasRunning = state.phase(task) === Phase.running;
  step.emit({ type: "TaskInterrupted", task, attempt: state.attempt(task) });
  if (wasRunning) finishLost(step, task);
}

function fail(step: DagTransition, task: number, failure: Failure, how: Partial<FailedAttempt> = {}): void {
  const { state, turn } = step;
  const wasFailing = state.failing;
  step.emit(failedEvent(state, { ...how, task, failure, isFinal: wasFailing }, turn));
  if (state.isHardFailure(task)) followFailure(step, task, wasFailing);
}

/** A failure that nobody may skip: what depends on it is canceled, the workflow's policy decides about the rest. */
export function followFailure(step: DagTransition, task: number, wasFailing: boolean): void {
  const { state } = step;
  const canceled = descendants(state, [task], {
    edges: "live",
    among: (other) => !isFinished(state.phase(other)),
  });
  if (canceled.length > 0) step.emit({ type: "TasksCanceled", tasks: canceled, cause: "upstream-failed" });
  const policy = state.graph.failurePolicy;
  if (policy === "abort-running") end(step, "Failed", failureReason(state, task));
  else if (policy === "finish-running" && !wasFailing) withdrawScheduled(step);
}
