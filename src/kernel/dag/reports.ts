import { EngineError } from "../../base/error.ts";
import { attemptIds } from "../address.ts";
import type { Execution, LastHeartbeat } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { AttemptEnded, AttemptsWithdrawn, ChildEnded, CompleteTask, Outcome } from "../input.ts";
import { refuseLargeContext, refuseLargeOutput } from "../size-limits.ts";
import {
  awaitsEvent,
  childFailure,
  completionTimeout,
  executionOf,
  type FailedAttempt,
  failedEvent,
  interruptedEvent,
  isAwaited,
  isCurrent,
  lossOf,
  succeededEvent,
  takeCompletion,
} from "../task-reports.ts";
import { isInFlight, Phase } from "../task-state.ts";
import { advance } from "./advance.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { DecisionEvaluated, ItemsListed, WorkersGone } from "./dag-input.ts";
import type { DagTransition } from "./dag-transition.ts";
import { decisionEdges, edgesNotTaken } from "./decision.ts";
import { followFailure } from "./following-failure.ts";
import { firstItemNumber } from "./map-items.ts";
import { checkSubTasks } from "./sub-tasks.ts";

// Reports about tasks. A report of an older attempt, of an ended instance or an unknown task is dropped.

export function onAttemptEnded(transition: DagTransition, report: AttemptEnded): void {
  if (!isCurrent(transition.state, report)) return transition.drop();
  const { task, outcome } = report;
  const execution = executionOf(report);
  const { state, identity, turn } = transition;
  if (outcome.kind === "success") succeed(transition, task, outcome, execution);
  else if (outcome.kind === "lost") lose(transition, task, outcome, execution);
  else if (outcome.kind === "awaits" && task >= firstItemNumber) fail(transition, task, itemAwaits, { execution });
  else if (outcome.kind === "awaits")
    transition.emit(awaitsEvent(state, task, outcome.timeoutMs, { execution, limits: identity.limits, turn }));
  else {
    const { failure, heartbeat } = outcome;
    fail(transition, task, failure, { execution, heartbeat, timedOut: outcome.kind === "timeout" });
  }
  advance(transition);
}

/** An item of a map has no token; only a worker of another kind could leave it waiting. */
const itemAwaits: Failure = {
  type: "TASK_INVALID",
  message: "an item of a map cannot be completed from outside",
  retryable: false,
};

/** `COMPLETION_LATE`. */
export function onCompletion(transition: DagTransition, input: CompleteTask): void {
  const { task, result } = input;
  takeCompletion(transition, input);
  if (result.kind === "success") succeed(transition, task, result);
  else fail(transition, task, result.failure);
  advance(transition);
}

/** Ends the attempts that nobody has completed from outside in time. */
export function timeOutCompletions(transition: DagTransition): void {
  const { state, turn } = transition;
  for (const task of state.completionsDue.takeDue(turn.at)) {
    // The failure of another may have ended the instance.
    if (state.phase(task) !== Phase.awaiting) continue;
    fail(transition, task, completionTimeout(state, task), { timedOut: true });
  }
}

export function onAttemptsWithdrawn(transition: DagTransition, report: AttemptsWithdrawn): void {
  transition.noteWithdrawal(report);
  advance(transition);
}

export function onDecisionEvaluated(transition: DagTransition, report: DecisionEvaluated): void {
  const { task, value } = report;
  if (!isAwaited(transition.state, report)) return transition.drop();
  if ("failure" in value) fail(transition, task, value.failure);
  else choose(transition, task, value.ok);
  advance(transition);
}

/** The items of a map are known, or why there are none. */
export function onItemsListed(transition: DagTransition, input: ItemsListed): void {
  const { state } = transition;
  const { task, attempt, pages, workers, failure } = input;
  if (!isAwaited(state, input) || state.items.isRunning(task)) return transition.drop();
  if (failure !== undefined) fail(transition, task, failure);
  else if (workers === undefined) transition.emit({ type: "MapStarted", task, attempt, pages });
  else transition.emit({ type: "MapStarted", task, attempt, workers });
  advance(transition);
}

/** Fails the items of a broadcast that wait for workers which are gone. What runs there is lost, and waits then. */
export function onWorkersGone(transition: DagTransition, input: WorkersGone): void {
  const { state, address } = transition;
  const items = state.items.ofTask(input.task);
  if (items === undefined || state.status !== "Running" || state.pausing || !isAwaited(state, input))
    return transition.drop();
  const waiting = input.items.filter((item) => items.has(item) && isInFlight(state.phase(item)));
  if (waiting.length === 0) return transition.drop();
  transition.command({ type: "AbortTasks", attemptIds: attemptIds(address, waiting, state) });
  for (const item of waiting) fail(transition, item, goneFailure(state.definition(item).worker ?? ""));
  advance(transition);
}

function goneFailure(worker: string): Failure {
  return { type: "WORKER_GONE", message: `worker "${worker}" is gone`, retryable: false };
}

export function onChildEnded(transition: DagTransition, report: ChildEnded): void {
  if (!isCurrent(transition.state, report)) return transition.drop();
  const { task, status, output, patch } = report;
  if (status === "Success") {
    const result = { ...(output !== undefined && { output }), ...(patch !== undefined && { patch }) };
    succeed(transition, task, { kind: "success", ...result });
  } else {
    fail(transition, task, childFailure(transition.state, report), { isChildMissing: report.isMissing });
  }
  advance(transition);
}

function succeed(
  transition: DagTransition,
  task: number,
  outcome: Outcome & { kind: "success" },
  execution: Execution = {},
): void {
  const { state, identity } = transition;
  const { output, patch } = outcome;
  let subTasks: readonly NodeSpec[] | undefined = outcome.subTasks;
  try {
    if (output !== undefined) refuseLargeOutput(output, `the output of task "${state.definition(task).name}"`);
    if (patch !== undefined) refuseLargeContext(state.context.patched(patch), "the context with this task's patch");
    if (subTasks !== undefined && task >= firstItemNumber) throw itemWithSubTasks(state.definition(task).name);
    if (subTasks !== undefined) subTasks = checkSubTasks(state, task, subTasks, identity.limits.subTasksMax);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return fail(transition, task, { type: error.code, message: error.message, retryable: false }, { execution });
  }
  transition.emit(succeededEvent(state, task, subTasks === undefined ? outcome : { ...outcome, subTasks }, execution));
}

function itemWithSubTasks(name: string): EngineError {
  return new EngineError("SUBTASK_INVALID", `item "${name}" of a map cannot generate sub-tasks`);
}

function choose(transition: DagTransition, task: number, result: unknown): void {
  const choice = edgesNotTaken(result, decisionEdges(transition.state.graph, task));
  if ("failure" in choice) return fail(transition, task, choice.failure);
  const text = typeof result === "bigint" ? result.toString() : JSON.stringify(result);
  transition.emit({ type: "DecisionMade", task, result: text, edgesOff: choice.off });
}

/**
 * Lets a lost attempt finish, if need be in another process: after a failure nothing new starts, but what was running
 * finishes.
 */
function finishLost(transition: DagTransition, task: number): void {
  const { state } = transition;
  if (!state.failing || state.pausing || state.status !== "Running") return;
  transition.emit({ type: "TasksScheduled", tasks: [task] });
  transition.command({ type: "RunTasks", tasks: [task] });
}

function lose(transition: DagTransition, task: number, { heartbeat }: LastHeartbeat, execution: Execution): void {
  const { state, identity } = transition;
  const failure = lossOf(state, task, identity.limits.interruptionsMax);
  if (failure !== undefined) return fail(transition, task, failure, { execution, heartbeat });
  const wasRunning = state.phase(task) === Phase.running;
  transition.emit(interruptedEvent(state, task, heartbeat));
  if (wasRunning) finishLost(transition, task);
}

function fail(transition: DagTransition, task: number, failure: Failure, how: Partial<FailedAttempt> = {}): void {
  const { state, turn } = transition;
  const wasFailing = state.failing;
  const isFinal = wasFailing || state.items.find(task)?.isTripped === true;
  transition.emit(failedEvent(state, { ...how, task, failure, isFinal }, turn));
  if (state.isHardFailure(task)) followFailure(transition, task, wasFailing);
}
