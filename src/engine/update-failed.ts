import { EngineError } from "../base/error.ts";
import type { Failure } from "../kernel/failure.ts";

/** Thrown by an update whose handler threw. The failure is recorded as the answer to the update. */
export class UpdateFailed extends EngineError {
  override readonly name = "UpdateFailed";
  readonly failure: Failure;

  constructor(update: string, failure: Failure) {
    super("HANDLER_FAILED", `update "${update}" failed: ${failure.message}`);
    this.failure = failure;
  }
}
