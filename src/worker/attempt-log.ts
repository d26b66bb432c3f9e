import { type ContextLog, contextLog } from "../base/context-log.ts";
import type { Logger } from "../base/logger.ts";
import { instanceFields, localName, namespaceOf } from "../base/namespace.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { TaskRun } from "../dispatch/task-run.ts";

/** The part of a run that its job can read; plain data, so that it can be sent to a thread. */
export type RunIdentity = Pick<
  TaskRun,
  | "instanceId"
  | "workflowName"
  | "taskName"
  | "task"
  | "attempt"
  | "attemptId"
  | "generation"
  | "traceparent"
  | "completionToken"
>;

/** Creates a log whose lines contain the fields of the attempt. */
export function attemptLog(logger: Logger, run: RunIdentity, onTaskLog?: OnTaskLog): ContextLog {
  const { attemptId, taskName, attempt } = run;
  const workflowName = localName(run.workflowName);
  const bound = { ...instanceFields(run.instanceId), workflowName, taskName, attempt };
  const namespace = namespaceOf(run.instanceId);
  return contextLog((level, fields, message) => {
    logger[level]({ ...fields, ...bound }, message);
    onTaskLog?.({ attemptId, ...bound, namespace, at: Date.now(), level, message, fields });
  });
}
