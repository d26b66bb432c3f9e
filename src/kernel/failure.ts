/** A failure of the user's task: not an exception of ours but data in history. */
export interface Failure {
  /** The error's name, or an error code of ours: what `nonRetryable` lists are matched with. */
  readonly type: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly stack?: string;
  readonly cause?: Failure;
}

const [typeMax, messageMax, stackMax, causesMax] = [200, 2000, 4000, 5];

/** The failure as another instance records it: shortened, because each level of nested workflows adds one. */
export function shortenFailure({ type, message, retryable, stack, cause }: Failure, depth = 0): Failure {
  return {
    type: type.slice(0, typeMax),
    message: message.slice(0, messageMax),
    retryable,
    ...(stack !== undefined && { stack: stack.slice(0, stackMax) }),
    ...(cause !== undefined && depth < causesMax && { cause: shortenFailure(cause, depth + 1) }),
  };
}
