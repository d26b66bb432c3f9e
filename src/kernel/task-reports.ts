import { EngineError } from "../base/error.ts";
import { attemptIds, type InstanceAddress } from "./address.ts";
import type { Command } from "./command.ts";
import type { Execution, TaskFailed, TasksStopped, TaskSucceeded } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { ChildEnded, Outcome, StopTask, TaskAttempt } from "./input.ts";
import type { InstanceState } from "./instance-state.ts";
import type { MachineIdentity } from "./machine.ts";
import { isRetryable, retryDelayMs } from "./retry.ts";
import { hasEnded } from "./status.ts";
import { isFinished, isInFlight, Phase, statusOf, type TaskRecord } from "./task-state.ts";
import type { Turn } from "./turn.ts";

// What is heard about tasks, and how it is put on record, whichever machine hears it.

export function isCurrent(state: InstanceState, report: TaskAttempt & { generation: number }): boolean {
  return report.generation === state.generation && isAwaited(state, report);
}

/** Attempts are numbered on through all generations of a DAG, so the number alone tells an older one. */
export function isAwaited(state: InstanceState, { task, attempt }: TaskAttempt): boolean {
  return task < state.size && isInFlight(state.phase(task)) && state.attempt(task) === attempt;
}

/** A task that a report is awaited about has been scheduled, and so has a record. */
export function awaitedRecord(state: InstanceState, task: number): TaskRecord {
  return state.record(task) as TaskRecord;
}

export function executionOf({ worker, startedAt }: Execution): Execution {
  return { ...(worker !== undefined && { worker }), ...(startedAt !== undefined && { startedAt }) };
}

export function succeededEvent(
  state: InstanceState,
  task: number,
  { output, patch, subTasks }: Omit<Outcome & { kind: "success" }, "kind">,
  execution: Execution,
): TaskSucceeded {
  return {
    type: "TaskSucceeded",
    task,
    attempt: state.attempt(task),
    ...execution,
    ...(output !== undefined && { output }),
    ...(patch !== undefined && { patch }),
    ...(subTasks !== undefined && { subTasks }),
  };
}

export interface FailedAttempt {
  readonly task: number;
  readonly failure: Failure;
  readonly execution?: Execution | undefined;
  readonly timedOut?: boolean | undefined;
  readonly isChildMissing?: boolean | undefined;
  /** Where nothing new is to start, there is no other attempt. */
  readonly isFinal?: boolean;
}

/** With the time of the next attempt, if there is to be one. */
export function failedEvent(
  state: InstanceState,
  { task, failure, execution, timedOut, isChildMissing, isFinal = false }: FailedAttempt,
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
    // Its own policy may make final what the job did not.
    failure: mayRetry === failure.retryable ? failure : { ...failure, retryable: mayRetry },
    ...(timedOut && { timedOut }),
    ...(isChildMissing && { isChildMissing }),
    ...(retries && { retryAt: turn.at + retryDelayMs(retryPolicy, retriesUsed, turn.random) }),
  };
}

/** How often the attempt would be lost with this loss; and the failure that this is, if it is once too often. */
export function lossOf(state: InstanceState, task: number, lossesMax: number): Failure | undefined {
  const lost = awaitedRecord(state, task).interruptions + 1;
  if (lost <= lossesMax) return undefined;
  const message = `worker lost: the attempt was lost with its process ${lost} times`;
  return { type: "TASK_LOST", message, retryable: false };
}

/** Every level of nested workflows adds its own words to the reason: how it began and what caused it, at its end, are kept. */
function shortened(reason: string): string {
  const [first, last] = [100, 300];
  return reason.length <= first + last ? reason : `${reason.slice(0, first)} … ${reason.slice(-last)}`;
}

/** Of a child that did not end well. */
export function childFailure(state: InstanceState, { task, status, reason, isMissing }: ChildEnded): Failure {
  const type = status === "Failed" ? "WORKFLOW_FAILED" : "WORKFLOW_TERMINATED";
  const because = reason === undefined ? "" : `: ${shortened(reason)}`;
  const how = isMissing ? "could not be started" : `ended in ${status}`;
  const message = `nested workflow instance "${awaitedRecord(state, task).childId}" ${how}${because}`;
  return { type, message, retryable: true };
}

/**
 * A user stops one task that is ready, with the dispatcher, running or waiting for its retry: an attempt that is under way
 * is aborted, a child instance terminated. `TASK_STATE` for one that has ended, or waits for what comes before it.
 */
export function stopTask(step: StoppingStep, { task, reason }: StopTask): void {
  const { state, identity } = step;
  refuseIfEnded(state, identity.id, "stop a task of");
  const phase = state.phase(task);
  const { name, kind } = state.definition(task);
  if (isFinished(phase) || phase === Phase.waiting) {
    const because = phase === Phase.waiting ? "has not started yet" : `has ended in ${statusOf(phase)}`;
    throw new EngineError("TASK_STATE", `cannot stop task "${name}" of instance "${identity.id}": it ${because}`);
  }
  const childId = state.record(task)?.childId;
  if (isInFlight(phase) && kind === "job") {
    step.command({ type: "AbortTasks", attemptIds: attemptIds(step.address, [task], state) });
  } else if (isInFlight(phase) && childId !== undefined) {
    step.command({ type: "TellChild", childId, tell: { type: "TerminateInstance", reason } });
  }
  const failure: Failure = { type: "TASK_STOPPED", message: reason, retryable: false };
  step.emit({ type: "TasksStopped", tasks: [task], failure });
}

/** What stopping a task needs of the message's step, of either machine. */
interface StoppingStep {
  readonly identity: MachineIdentity;
  readonly address: InstanceAddress;
  readonly state: InstanceState;
  emit(event: TasksStopped): void;
  command(command: Command): void;
}

/** What the state does not allow. */
export function stateRefusal(state: InstanceState, id: string, operation: string): EngineError {
  const { status, pausing } = state;
  const standing = pausing ? `${status} and already pausing` : status;
  return new EngineError("INSTANCE_STATE", `cannot ${operation} instance "${id}": it is ${standing}`);
}

export function refuseIfEnded(state: InstanceState, id: string, operation: string): void {
  if (hasEnded(state.status)) throw stateRefusal(state, id, operation);
}
