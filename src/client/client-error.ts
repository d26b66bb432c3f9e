/** Where a request does not fit, and why. */
export interface RequestProblem {
  readonly path: string;
  readonly problem: string;
}

/**
 * What the server refused, in its own words and with its own code; or one of the client's own codes: `UNREACHABLE` if
 * nobody answered, `ANSWER_INVALID` if what answered is not Heddle.
 */
export class HeddleClientError extends Error {
  override readonly name = "HeddleClientError";
  readonly code: string;
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly details: readonly RequestProblem[];

  constructor(
    message: string,
    given: { code: string; status?: number; details?: readonly RequestProblem[]; cause?: unknown },
  ) {
    super(message, { cause: given.cause });
    this.code = given.code;
    this.status = given.status ?? 0;
    this.details = given.details ?? [];
  }
}
