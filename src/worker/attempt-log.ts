import type { LogFields, Logger } from "../base/logger.ts";
import type { LogLevel, OnTaskLog } from "../dispatch/task-log.ts";
import type { RunIdentity } from "./attempt-context.ts";

/** A logger whose every line says which attempt it comes from. */
export class AttemptLog implements Logger {
  readonly #logger: Logger;
  readonly #bound: Pick<RunIdentity, "instanceId" | "workflowName" | "taskName" | "attempt">;
  readonly #onTaskLog: OnTaskLog | undefined;

  constructor(logger: Logger, run: RunIdentity, onTaskLog?: OnTaskLog) {
    const { instanceId, workflowName, taskName, attempt } = run;
    this.#logger = logger;
    this.#bound = { instanceId, workflowName, taskName, attempt };
    this.#onTaskLog = onTaskLog;
  }

  debug(fields: LogFields, message: string): void {
    this.#log("debug", fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#log("info", fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#log("warn", fields, message);
  }

  error(fields: LogFields, message: string): void {
    this.#log("error", fields, message);
  }

  #log(level: LogLevel, fields: LogFields, message: string): void {
    this.#logger[level]({ ...fields, ...this.#bound }, message);
    this.#onTaskLog?.({ ...this.#bound, at: Date.now(), level, message, fields });
  }
}
