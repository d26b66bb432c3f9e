import type { Failure } from "../kernel/failure.ts";
import type { FailureDetails } from "./failure-details.ts";

export function failureOf({
  errorType,
  errorMessage,
  stackTrace,
  innerFailure,
  isNonRetriable,
}: FailureDetails): Failure {
  return {
    type: errorType === "" ? "Error" : errorType,
    message: errorMessage,
    retryable: !isNonRetriable,
    ...(stackTrace !== undefined && stackTrace !== "" && { stack: stackTrace }),
    ...(innerFailure !== undefined && { cause: failureOf(innerFailure) }),
  };
}

/** Payloads are JSON by convention. Text that is none is kept as a JSON text, an empty one as no value. */
export function jsonOf(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return parsed(text) === undefined ? JSON.stringify(text) : text;
}

/** Undefined for what is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function detailsOf({ type, message, retryable, stack, cause }: Failure): FailureDetails {
  return {
    errorType: type,
    errorMessage: message,
    stackTrace: stack,
    innerFailure: cause && detailsOf(cause),
    isNonRetriable: !retryable,
  };
}
