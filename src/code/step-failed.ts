import type { Failure } from "../kernel/failure.ts";

/** Thrown into the code when a step fails. `failure.type` names the kind of failure. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly failure: Failure;

  constructor(message: string, failure: Failure) {
    super(message);
    this.failure = failure;
  }
}

/** Thrown into the code when the instance is canceled: what the code waited for will not come. */
export class WorkflowCanceled extends Error {
  override readonly name = "WorkflowCanceled";
  readonly code = "WORKFLOW_CANCELED";
  readonly reason: string;

  constructor(reason: string) {
    super(`the workflow was asked to end: ${reason}`);
    this.reason = reason;
  }
}
