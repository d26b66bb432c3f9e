import type { Failure } from "./failure.ts";
import type { Payload } from "./payload.ts";
import type { CancelCause, TaskStatus } from "./status.ts";

/** Phase of a task, finer than its status: one number per task, so that large graphs stay small. */
export const Phase = {
  /** Waits for something it depends on. */
  waiting: 0,
  /** Waits for a place within the instance's concurrency. */
  ready: 1,
  /** Handed to the dispatcher, not known to have started. */
  scheduled: 2,
  running: 3,
  /** Waits for its next attempt. */
  retryWait: 4,
  success: 5,
  failed: 6,
  timeoutFailed: 7,
  stopped: 8,
  skipped: 9,
  canceledBranch: 10,
  canceledUpstream: 11,
  canceledEnded: 12,
  /** A sub-task of a parent that runs again; it is no longer part of the instance. */
  removed: 13,
  /** Stopped by a user, and not because its instance ended: it counts as failed. */
  stoppedByUser: 14,
} as const;

export type Phase = (typeof Phase)[keyof typeof Phase];

const statuses: readonly TaskStatus[] = [
  "Pending",
  "Pending",
  "Pending",
  "Running",
  "Pending",
  "Success",
  "Failed",
  "TimeoutFailed",
  "Stopped",
  "Skipped",
  "Canceled",
  "Canceled",
  "Canceled",
  "Canceled",
  "Stopped",
];

export function statusOf(phase: Phase): TaskStatus {
  return statuses[phase] as TaskStatus;
}

export function causeOf(phase: Phase): CancelCause | undefined {
  if (phase === Phase.canceledBranch) return "branch";
  if (phase === Phase.canceledUpstream) return "upstream-failed";
  if (phase === Phase.canceledEnded) return "instance-ended";
  return undefined;
}

export function phaseOf(cause: CancelCause): Phase {
  if (cause === "branch") return Phase.canceledBranch;
  return cause === "upstream-failed" ? Phase.canceledUpstream : Phase.canceledEnded;
}

export function isFinished(phase: Phase): boolean {
  return phase >= Phase.success;
}

export function isInFlight(phase: Phase): boolean {
  return phase === Phase.scheduled || phase === Phase.running;
}

export function isFailed(phase: Phase): boolean {
  return phase === Phase.failed || phase === Phase.timeoutFailed || phase === Phase.stoppedByUser;
}

/** State of a task beyond its phase; made when it is first scheduled. */
export interface TaskRecord {
  /** Number of the attempt that runs, or ran last; 0 before the first. */
  attempt: number;
  /** The attempt has neither succeeded nor failed: scheduling it again is the same attempt. */
  attemptOpen: boolean;
  retriesUsed: number;
  interruptions: number;
  scheduledAt: number | undefined;
  startedAt: number | undefined;
  endedAt: number | undefined;
  worker: string | undefined;
  failure: Failure | undefined;
  output: Payload | undefined;
  retryAt: number | undefined;
  /** Instance that runs a nested workflow. */
  childId: string | undefined;
  /** The child instance never was, or is gone. */
  isChildMissing: boolean;
  /** Edges that a decision switched off. */
  edgesOff: readonly number[] | undefined;
}

export function newRecord(): TaskRecord {
  return {
    attempt: 0,
    attemptOpen: false,
    retriesUsed: 0,
    interruptions: 0,
    scheduledAt: undefined,
    startedAt: undefined,
    endedAt: undefined,
    worker: undefined,
    failure: undefined,
    output: undefined,
    retryAt: undefined,
    childId: undefined,
    isChildMissing: false,
    edgesOff: undefined,
  };
}
