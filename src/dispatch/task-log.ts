import type { LogLevel } from "../base/context-log.ts";
import type { LogFields } from "../base/logger.ts";

/** One line that a job has logged. */
export interface TaskLogLine {
  readonly attemptId: string;
  readonly namespace: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  readonly attempt: number;
  /** Epoch ms by the clock of the process that runs the job. */
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Receives log lines of jobs. Never throws and never waits, so that jobs are not affected. */
export type OnTaskLog = (line: TaskLogLine) => void;
