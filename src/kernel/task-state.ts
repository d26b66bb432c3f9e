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
  /** Its job has returned without a result; the task is completed from outside. */
  awaiting: 4,
  /** Waits for its next attempt. */
  retryWait: 5,
  success: 6,
  failed: 7,
  timeoutFailed: 8,
  stopped: 9,
  skipped: 10,
  canceledBranch: 11,
  canceledUpstream: 12,
  canceledEnded: 13,
  /** A sub-task of a parent that runs again; it is no longer part of the instance. */
  removed: 14,
  /** Stopped by a user, and not because its instance ended: it counts as failed. */
  stoppedByUser: 15,
} as const;

export type Phase = (typeof Phase)[keyof typeof Phase];

const statuses: readonly TaskStatus[] = [
  "Pending",
  "Pending",
  "Pending",
  "Running",
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

/** True for a task that has been started and has not ended, whoever has it. */
export function isInFlight(phase: Phase): boolean {
  return phase === Phase.scheduled || phase === Phase.running || phase === Phase.awaiting;
}

/** True for a task in flight whose end is reported by whoever runs it, not from outside. */
export function isUnderWay(phase: Phase): boolean {
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
  /** The details of the last heartbeat that an earlier run of the task has left: JSON text. */
  heartbeat: string | undefined;
  scheduledAt: number | undefined;
  startedAt: number | undefined;
  endedAt: number | undefined;
  /** The wait to be completed from outside. */
  awaiting: { readonly since: number; readonly deadline: number } | undefined;
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
    heartbeat: undefined,
    scheduledAt: undefined,
    startedAt: undefined,
    endedAt: undefined,
    awaiting: undefined,
    worker: undefined,
    failure: undefined,
    output: undefined,
    retryAt: undefined,
    childId: undefined,
    isChildMissing: false,
    edgesOff: undefined,
  };
}
