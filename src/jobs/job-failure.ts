/** A failure of a ready-made job. Its name is the type in the history, which `nonRetryable` and `retryOn` are matched with. */
export class JobFailure extends Error {
  override readonly name: string;
  readonly retryable: boolean;

  constructor(type: FailureType, message: string, { retryable }: { retryable: boolean }) {
    super(message);
    this.name = type;
    this.retryable = retryable;
  }
}

export type FailureType =
  | "HttpFailed"
  | "CommandFailed"
  | "SqlFailed"
  | "CleanupFailed"
  | "WaitFailed"
  | "WaitTimeout"
  | "SecretRefused"
  | "ParamsRefused";
