import { EngineError } from "../base/error.ts";
import type { FailedTask } from "../views/instance-view.ts";

/** Thrown by `result()` if the instance failed. */
export class WorkflowFailed extends EngineError {
  override readonly name = "WorkflowFailed";
  readonly instanceId: string;
  readonly failedTasks: readonly FailedTask[];

  /** Made by `Engine`. */
  constructor(instanceId: string, reason: string | undefined, failedTasks: readonly FailedTask[]) {
    super("WORKFLOW_FAILED", `instance "${instanceId}" failed: ${reason ?? "no reason is on record"}`);
    this.instanceId = instanceId;
    this.failedTasks = failedTasks;
  }
}

/** Thrown by `result()` if the instance was terminated. */
export class WorkflowTerminated extends EngineError {
  override readonly name = "WorkflowTerminated";
  readonly instanceId: string;
  readonly reason: string | undefined;

  /** Made by `Engine`. */
  constructor(instanceId: string, reason: string | undefined) {
    super("WORKFLOW_TERMINATED", `instance "${instanceId}" was terminated: ${reason ?? "no reason is on record"}`);
    this.instanceId = instanceId;
    this.reason = reason;
  }
}
