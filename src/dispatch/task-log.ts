import type { LogLevel } from "../base/context-log.ts";
import type { LogFields } from "../base/logger.ts";

/** What a job said through its `log`. */
export interface TaskLogLine {
  readonly attemptId: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  readonly attempt: number;
  /** Epoch ms, by the clock of the process that runs the job. */
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Never throws, and never waits: a job must not feel that somebody listens. */
export type OnTaskLog = (line: TaskLogLine) => void;
