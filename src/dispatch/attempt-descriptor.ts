import type { AttemptIdentity, TaskRun } from "./task-run.ts";
import { localName, namespaceOf } from "../base/namespace.ts";

/** The data that a member needs to adopt an attempt which a worker announces. It travels with the attempt. */
export interface AttemptDescriptor extends AttemptIdentity {
  /** Absent if the attempt has no timeout. */
  readonly timeoutMs?: number;
  /** Time without a heartbeat after which its worker ends it; absent if none is expected. */
  readonly heartbeatTimeoutMs?: number;
  /** Time of the grant by the clock of the member that granted it; the timeout counts from here. */
  readonly startedAt: number;
}

/** The names of an attempt as its namespace knows them, for log lines. */
export function localNames({ instanceId, workflowName, taskName, attempt }: AttemptDescriptor) {
  const namespace = namespaceOf(instanceId);
  return { namespace, instanceId: localName(instanceId), workflowName: localName(workflowName), taskName, attempt };
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
    heartbeatTimeoutMs,
    traceparent,
  } = run;
  const names = { attemptId, instanceId, workflowName, taskName, task, attempt, generation, job, domain };
  // JSON cannot represent Infinity.
  return {
    ...names,
    ...(timeoutMs === Infinity ? {} : { timeoutMs }),
    ...(heartbeatTimeoutMs !== undefined && { heartbeatTimeoutMs }),
    ...(traceparent !== undefined && { traceparent }),
    startedAt,
  };
}
