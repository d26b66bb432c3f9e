/** A failure of the user's task: not an exception of ours but data in history. */
export interface Failure {
  /** The error's name, or an error code of ours: what `nonRetryable` lists are matched with. */
  readonly type: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly stack?: string;
  readonly cause?: Failure;
}
