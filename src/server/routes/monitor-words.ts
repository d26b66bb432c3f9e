import type { DataOf } from "../../api/routes.ts";
import type { InstanceStatus, TaskStatus } from "../../kernel/status.ts";
import type { TaskKind } from "../../kernel/task-definition.ts";

type Node = DataOf<"monitorInstance">["nodes"][number];
type Word = Node["status"];

/** The words of PowerJob and TIS: scripts and pages that were written for them compare with these. */
export const nodeWords: Readonly<Record<TaskStatus, Word>> = {
  Pending: "WAITING",
  Running: "RUNNING",
  Success: "SUCCEED",
  Skipped: "SUCCEED",
  Failed: "FAILED",
  TimeoutFailed: "FAILED",
  Canceled: "CANCELED",
  Stopped: "STOPPED",
};

export const instanceWords: Readonly<Record<InstanceStatus, Word>> = {
  Ready: "WAITING",
  Running: "RUNNING",
  Paused: "RUNNING",
  Success: "SUCCEED",
  Failed: "FAILED",
  Terminated: "STOPPED",
};

export const nodeTypeWords: Readonly<Record<TaskKind, Node["nodeType"]>> = {
  job: "TASK",
  decision: "CONTROL",
  nested: "NESTED",
  map: "TASK",
};
