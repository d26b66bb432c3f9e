import type { Failure } from "../kernel/failure.ts";

/** A step did not give what the code asked for. `failure.type` says what kind of failure it was. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly failure: Failure;

  constructor(message: string, failure: Failure) {
    super(message);
    this.failure = failure;
  }
}

/** The instance was asked to end: what the code waited for will not come. */
export class WorkflowCanceled extends Error {
  override readonly name = "WorkflowCanceled";
  readonly code = "WORKFLOW_CANCELED";
  readonly reason: string;

  constructor(reason: string) {
    super(`the workflow was asked to end: ${reason}`);
    this.reason = reason;
  }
}
