import { assert, unreachable } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import type { Writable } from "../base/writable.ts";
import { localName } from "../base/namespace.ts";
import { momentAfter } from "../base/time-limits.ts";
import { attemptIds, type InstanceAddress } from "./address.ts";
import type { Command } from "./command.ts";
import type {
  Execution,
  TaskAwaitsCompletion,
  TaskFailed,
  TaskInterrupted,
  TasksStopped,
  TaskSucceeded,
} from "./event.ts";
import type { Failure } from "./failure.ts";
import type { ChildEnded, CompleteTask, Outcome, StopTask, TaskAttempt } from "./input.ts";
import type { InstanceState } from "./instance-state.ts";
import type { MachineIdentity, MachineLimits } from "./machine.ts";
import { refuseIfEnded } from "./refusals.ts";
import { isRetryable, retryDelayMs } from "./retry.ts";
import { isFinished, isInFlight, isUnderWay, Phase, statusOf, type TaskRecord } from "./task-state.ts";
import { timeoutMsOf } from "./task-definition.ts";
import type { Turn } from "./turn.ts";

// Reports about tasks, and the events that record them, for both machines.

export function isCurrent(state: InstanceState, report: TaskAttempt & { generation: number }): boolean {
  return report.generation === state.generation && isAwaited(state, report);
}

/**
 * Attempts are numbered through all generations of a DAG, so the number alone identifies an older one. Whoever ran an
 * attempt that is completed from outside has nothing more to report.
 */
export function isAwaited(state: InstanceState, { task, attempt }: TaskAttempt): boolean {
  return state.has(task) && isUnderWay(state.phase(task)) && state.attempt(task) === attempt;
}

/** A task that a report is awaited about has been scheduled, and so has a record. */
export function awaitedRecord(state: InstanceState, task: number): TaskRecord {
  return state.record(task) as TaskRecord;
}

export function executionOf({ worker, startedAt }: Execution): Execution {
  if (worker !== undefined && startedAt !== undefined) return { worker, startedAt };
  return { ...(worker !== undefined && { worker }), ...(startedAt !== undefined && { startedAt }) };
}

export function succeededEvent(
  state: InstanceState,
  task: number,
  { output, patch, subTasks }: Omit<Outcome & { kind: "success" }, "kind">,
  execution: Execution,
): TaskSucceeded {
  const { worker, startedAt } = execution;
  const event: Writable<TaskSucceeded> = { type: "TaskSucceeded", task, attempt: state.attempt(task) };
  if (worker !== undefined) event.worker = worker;
  if (startedAt !== undefined) event.startedAt = startedAt;
  if (output !== undefined) event.output = output;
  if (patch !== undefined) event.patch = patch;
  if (subTasks !== undefined) event.subTasks = subTasks;
  return event;
}

/**
 * The event of an attempt that is completed from outside. It has one timeout like any other: that of the task counts from
 * the start of the attempt, one that the job has given from now.
 */
export function awaitsEvent(
  state: InstanceState,
  task: number,
  timeoutMs: number | undefined,
  { execution, limits, turn }: { execution: Execution; limits: MachineLimits; turn: Turn },
): TaskAwaitsCompletion {
  const deadline =
    timeoutMs === undefined
      ? momentAfter(execution.startedAt ?? turn.at, timeoutMsOf(state.definition(task), limits))
      : momentAfter(turn.at, timeoutMs);
  return { type: "TaskAwaitsCompletion", task, attempt: state.attempt(task), ...execution, deadline };
}

/** The failure of an attempt that nobody has completed in time. */
export function completionTimeout(state: InstanceState, task: number): Failure {
  const { name } = state.definition(task);
  return {
    type: "TASK_TIMEOUT",
    message: `nobody has completed task "${name}" from outside within its timeout`,
    retryable: true,
  };
}

/**
 * Prepares an attempt for its result from outside. The job need not have returned: then it is aborted, for its attempt is
 * over. `COMPLETION_LATE` if the attempt has ended, be it that another one follows.
 */
export function takeCompletion(transition: CompletionTransition, { task, attempt, generation }: CompleteTask): void {
  const { state, identity, address } = transition;
  const record = task < state.size ? state.record(task) : undefined;
  const isOpen = record?.attemptOpen === true && record.attempt === attempt && !isFinished(state.phase(task));
  if (!isOpen || generation !== state.generation) {
    const name = task < state.size ? `task "${state.definition(task).name}"` : `task ${task}`;
    throw new EngineError(
      "COMPLETION_LATE",
      `${name} of instance "${localName(identity.id)}" does not wait for that completion any more: its attempt ${attempt} has ended`,
    );
  }
  if (!isUnderWay(state.phase(task))) return;
  transition.command({ type: "AbortTasks", attemptIds: attemptIds(address, [task], state) });
}

export interface FailedAttempt {
  readonly task: number;
  readonly failure: Failure;
  readonly execution?: Execution | undefined;
  readonly heartbeat?: string | undefined;
  readonly timedOut?: boolean | undefined;
  readonly isChildMissing?: boolean | undefined;
  /** No other attempt follows, because the instance starts nothing new. */
  readonly isFinal?: boolean;
}

/** The event of a failed attempt, with the time of the next attempt if there is one. */
export function failedEvent(
  state: InstanceState,
  { task, failure, execution, heartbeat, timedOut, isChildMissing, isFinal = false }: FailedAttempt,
  turn: Turn,
): TaskFailed {
  const { retryCount, retryPolicy } = state.definition(task);
  const { retriesUsed } = awaitedRecord(state, task);
  const mayRetry = isRetryable(retryPolicy, failure);
  const retries = retriesUsed < retryCount && !isFinal && mayRetry;
  return {
    type: "TaskFailed",
    task,
    attempt: state.attempt(task),
    ...execution,
    // The task's retry policy may make a failure final that the job called retryable.
    failure: mayRetry === failure.retryable ? failure : { ...failure, retryable: mayRetry },
    ...(heartbeat !== undefined && { heartbeat }),
    ...(timedOut && { timedOut }),
    ...(isChildMissing && { isChildMissing }),
    ...(retries && { retryAt: turn.at + retryDelayMs(retryPolicy, retriesUsed, turn.random) }),
  };
}

export function interruptedEvent(state: InstanceState, task: number, heartbeat: string | undefined): TaskInterrupted {
  return { type: "TaskInterrupted", task, attempt: state.attempt(task), ...(heartbeat !== undefined && { heartbeat }) };
}

/** The failure of an attempt that was lost with its process more often than the limit allows; undefined if it may run again. */
export function lossOf(state: InstanceState, task: number, lossesMax: number): Failure | undefined {
  const lost = awaitedRecord(state, task).interruptions + 1;
  if (lost <= lossesMax) return undefined;
  const message = `worker lost: the attempt was lost with its process ${lost} times`;
  return { type: "TASK_LOST", message, retryable: false };
}

/** Keeps the beginning and the end of a reason: every level of nested workflows adds its own words to it. */
function shorten(reason: string): string {
  const [first, last] = [100, 300];
  return reason.length <= first + last ? reason : `${reason.slice(0, first)} … ${reason.slice(-last)}`;
}

/** The failure of a task whose child did not succeed. */
export function childFailure(
  state: InstanceState,
  { task, status, reason, isMissing, failure: cause }: ChildEnded,
): Failure {
  const type = status === "Failed" ? "WORKFLOW_FAILED" : "WORKFLOW_TERMINATED";
  const because = reason === undefined ? "" : `: ${shorten(reason)}`;
  const how = isMissing ? "could not be started" : `ended in ${status}`;
  const message = `nested workflow instance "${localName(awaitedRecord(state, task).childId ?? "")}" ${how}${because}`;
  return { type, message, retryable: true, ...(cause !== undefined && { cause }) };
}

/**
 * A user stops one task that is ready, with the dispatcher, running or waiting for its retry: an attempt that is under way
 * is aborted, a child instance terminated. `TASK_STATE` for one that has ended, or waits for what comes before it.
 */
export function stopTask(transition: StopTransition, { task, reason }: StopTask): void {
  const { state, identity } = transition;
  refuseIfEnded(state, identity.id, "stop a task of");
  const phase = state.phase(task);
  const { name } = state.definition(task);
  if (isFinished(phase) || phase === Phase.waiting) {
    const because = phase === Phase.waiting ? "has not started yet" : `has ended in ${statusOf(phase)}`;
    throw new EngineError(
      "TASK_STATE",
      `cannot stop task "${name}" of instance "${localName(identity.id)}": it ${because}`,
    );
  }
  const command = isInFlight(phase) ? stopCommand(transition, { task, reason }) : undefined;
  if (command !== undefined) transition.command(command);
  const failure: Failure = { type: "TASK_STOPPED", message: reason, retryable: false };
  transition.emit({ type: "TasksStopped", tasks: [task], failure });
}

/** The command that ends what runs for a task in flight; undefined for a decision, whose result comes too late, and where nothing runs. */
function stopCommand(
  { state, address }: StopTransition,
  { task, reason }: Pick<StopTask, "task" | "reason">,
): Command | undefined {
  const { kind } = state.definition(task);
  switch (kind) {
    case "job":
      if (!isUnderWay(state.phase(task))) return undefined;
      return { type: "AbortTasks", attemptIds: attemptIds(address, [task], state) };
    case "nested": {
      const { childId } = awaitedRecord(state, task);
      assert(childId !== undefined, "a nested workflow in flight has a child");
      return { type: "TellChild", childId, tell: { type: "TerminateInstance", reason } };
    }
    case "map":
      return { type: "AbortTasks", attemptIds: attemptIds(address, itemsOf(state, task), state) };
    case "decision":
      return undefined;
    default:
      return unreachable(kind, "the kind of a task");
  }
}

function itemsOf(state: InstanceState, map: number): number[] {
  return state.inFlightItems().filter((item) => state.parentOf(item) === map);
}

/** The part of a transition, of either machine, that a completion needs. */
type CompletionTransition = Omit<StopTransition, "emit">;

/** The part of a transition, of either machine, that stopping a task needs. */
interface StopTransition {
  readonly identity: MachineIdentity;
  readonly address: InstanceAddress;
  readonly state: InstanceState;
  emit(event: TasksStopped): void;
  command(command: Command): void;
}
