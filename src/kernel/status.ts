/** The statuses of spec and storage. These words reach the disk and the wire: they do not change. */
export type InstanceStatus = "Ready" | "Running" | "Paused" | "Success" | "Failed" | "Terminated";
/** Status of an instance that has ended. */
export type EndStatus = "Success" | "Failed" | "Terminated";

/** Status of a task. */
export type TaskStatus =
  | "Pending"
  | "Running"
  | "Success"
  | "Failed"
  | "TimeoutFailed"
  | "Stopped"
  | "Skipped"
  | "Canceled";

/**
 * Cause of a task's cancellation: its branch was not taken, something it depends on failed, or its instance ended
 * first.
 */
export type CancelCause = "branch" | "upstream-failed" | "instance-ended";

export function hasEnded(status: InstanceStatus): status is EndStatus {
  return status === "Success" || status === "Failed" || status === "Terminated";
}
