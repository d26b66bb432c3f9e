import type { InstanceStatus, TaskStatus } from "../kernel/status.ts";

/** PowerJob's codes of a node. */
export const nodeCodes = {
  waitingDispatch: 1,
  waitingReceive: 2,
  running: 3,
  failed: 4,
  succeed: 5,
  canceled: 9,
  stopped: 10,
} as const;

/** PowerJob's codes of a workflow instance. */
export const instanceCodes = { waiting: 1, running: 2, failed: 3, succeed: 4, stopped: 10 } as const;

const nodeCodeOf: Readonly<Record<TaskStatus, number>> = {
  Pending: nodeCodes.waitingDispatch,
  Running: nodeCodes.running,
  Success: nodeCodes.succeed,
  Failed: nodeCodes.failed,
  TimeoutFailed: nodeCodes.failed,
  Stopped: nodeCodes.stopped,
  Skipped: nodeCodes.succeed,
  Canceled: nodeCodes.canceled,
};

const taskStatuses: Readonly<Record<number, TaskStatus>> = {
  [nodeCodes.waitingDispatch]: "Pending",
  [nodeCodes.waitingReceive]: "Pending",
  [nodeCodes.running]: "Running",
  [nodeCodes.failed]: "Failed",
  [nodeCodes.succeed]: "Success",
  [nodeCodes.canceled]: "Canceled",
  [nodeCodes.stopped]: "Stopped",
};

const instanceCodeOf: Readonly<Record<InstanceStatus, number>> = {
  Ready: instanceCodes.waiting,
  Running: instanceCodes.running,
  Paused: instanceCodes.running,
  Success: instanceCodes.succeed,
  Failed: instanceCodes.failed,
  Terminated: instanceCodes.stopped,
};

const instanceStatuses: Readonly<Record<number, InstanceStatus>> = {
  [instanceCodes.waiting]: "Ready",
  [instanceCodes.running]: "Running",
  [instanceCodes.failed]: "Failed",
  [instanceCodes.succeed]: "Success",
  [instanceCodes.stopped]: "Terminated",
};

/** `isHandedOut`: a pending task is with the dispatcher and not known to have started. */
export function nodeCode(status: TaskStatus, isHandedOut = false): number {
  return status === "Pending" && isHandedOut ? nodeCodes.waitingReceive : nodeCodeOf[status];
}

/** Undefined for a number that is no code. PowerJob cannot tell a timeout or a skip: they read as failed and succeeded. */
export function taskStatus(code: number): TaskStatus | undefined {
  return taskStatuses[code];
}

/** PowerJob knows no pause: a paused instance is running. */
export function instanceCode(status: InstanceStatus): number {
  return instanceCodeOf[status];
}

/** Undefined for a number that is no code. */
export function instanceStatus(code: number): InstanceStatus | undefined {
  return instanceStatuses[code];
}
