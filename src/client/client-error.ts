/** One problem of an invalid request, with its place. */
export interface RequestProblem {
  readonly path: string;
  readonly problem: string;
}

/**
 * An error of the server, with its message and code; or one of the client's own codes: `UNREACHABLE` if
 * there was no answer, `ANSWER_INVALID` if the answer is not Heddle's.
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
