import { type ContextLog, contextLog } from "../base/context-log.ts";
import type { Logger } from "../base/logger.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { RunIdentity } from "./attempt-context.ts";

/** A log whose every line names the attempt it comes from. */
export function attemptLog(logger: Logger, run: RunIdentity, onTaskLog?: OnTaskLog): ContextLog {
  const { attemptId, instanceId, workflowName, taskName, attempt } = run;
  const bound = { instanceId, workflowName, taskName, attempt };
  return contextLog((level, fields, message) => {
    logger[level]({ ...fields, ...bound }, message);
    onTaskLog?.({ attemptId, ...bound, at: Date.now(), level, message, fields });
  });
}
