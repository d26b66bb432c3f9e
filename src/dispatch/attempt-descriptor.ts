import type { AttemptIdentity, TaskRun } from "./task-run.ts";

/** What a member needs to take over an attempt that a worker brings along. Plain data: it travels with the attempt. */
export interface AttemptDescriptor extends AttemptIdentity {
  /** Absent: none. */
  readonly timeoutMs?: number;
  /** By the clock of the member that granted it; its timeout counts from here. */
  readonly startedAt: number;
}

export function describeAttempt(run: TaskRun, startedAt: number): AttemptDescriptor {
  const {
    attemptId,
    instanceId,
    workflowName,
    taskName,
    task,
    attempt,
    generation,
    job,
    domain,
    timeoutMs,
    traceparent,
  } = run;
  const names = { attemptId, instanceId, workflowName, taskName, task, attempt, generation, job, domain };
  // There is no way to write infinity in JSON.
  return {
    ...names,
    ...(timeoutMs === Infinity ? {} : { timeoutMs }),
    ...(traceparent !== undefined && { traceparent }),
    startedAt,
  };
}
