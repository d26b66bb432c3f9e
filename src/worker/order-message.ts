import type { MessagePort } from "node:worker_threads";
import type { LogFields } from "../base/logger.ts";
import type { JobSource } from "../authoring/job.ts";
import type { LogLevel } from "../base/context-log.ts";
import type { TaskInputs } from "../dispatch/task-run.ts";
import type { NumberedAnswer, NumberedQuestion } from "../dispatch/attempt-question.ts";
import type { AttemptReport } from "../dispatch/attempt-report.ts";
import type { Outcome } from "../kernel/input.ts";
import type { RunIdentity } from "./attempt-log.ts";

/** The worker data of a new thread. */
export interface ThreadData {
  readonly port: MessagePort;
}

/** An attempt for a thread or a child process: plain data, because it is cloned. */
export interface JobOrder {
  readonly run: RunIdentity;
  readonly source: JobSource;
  /** Validated parameters, as the job's schema returned them. */
  readonly params: unknown;
  readonly inputs: TaskInputs;
  readonly subTasksMax: number;
  /** True if heartbeats are expected: the first one is sent when the job is called. */
  readonly isWatched: boolean;
}

export type ToRunner =
  | { readonly type: "run"; readonly order: JobOrder }
  /** Aborts the running attempt. */
  | { readonly type: "abort"; readonly reason: AbortReason }
  | ({ readonly type: "answered" } & NumberedAnswer);

export interface AbortReason {
  readonly name: string;
  readonly message: string;
}

export type FromRunner =
  | {
      readonly type: "log";
      readonly attemptId: string;
      readonly level: LogLevel;
      readonly fields: LogFields;
      readonly message: string;
    }
  | { readonly type: "report"; readonly attemptId: string; readonly report: AttemptReport }
  | ({ readonly type: "asked" } & NumberedQuestion)
  | { readonly type: "ended"; readonly outcome: Outcome };
