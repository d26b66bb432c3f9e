import type { EngineError } from "../base/error.ts";
import type { Outcome } from "../kernel/input.ts";
import type { TaskProgress } from "./task-progress.ts";

/** A report of a running job about its attempt: the fields that have changed. Reports may be lost; the next one replaces the last. */
export interface AttemptReport {
  readonly progress?: TaskProgress;
  readonly heartbeat?: JobHeartbeat;
}

/** A job has sent a heartbeat. */
export interface JobHeartbeat {
  /** The last details that the attempt has sent, if any: JSON text. */
  readonly details?: string;
}

/** Receives the reports of running jobs. Never throws, never waits. */
export type OnReport = (attemptId: string, report: AttemptReport) => void;

/** Adds the details of the last heartbeat to the outcome of an attempt that did not succeed, unless it has them. */
export function withHeartbeat(outcome: Outcome, details: string | undefined): Outcome {
  if (details === undefined || outcome.kind === "success" || outcome.kind === "awaits") return outcome;
  return { heartbeat: details, ...outcome };
}

export function timeoutOutcome({ code: type, message, retryable }: EngineError): Outcome {
  return { kind: "timeout", failure: { type, message, retryable } };
}
