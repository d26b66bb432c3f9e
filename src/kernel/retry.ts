import { durationMsMax } from "../base/time-limits.ts";
import type { Failure } from "./failure.ts";

/** How long failed attempts wait, and which failures are retried. The number of retries is `retryCount`. */
export interface RetryPolicy {
  /** The wait before the first retry. */
  readonly initialMs: number;
  /** Factor by which each further wait grows. */
  readonly factor: number;
  /** Maximum of a wait. */
  readonly maxMs: number;
  /**
   * Part of the wait, 0 to 1, that is added at random, so that attempts that failed together are not retried together.
   */
  readonly jitter: number;
  /** Failures of these types are final. */
  readonly nonRetryable: readonly string[];
  /** If given, only failures of these types are retried. */
  readonly retryOn?: readonly string[];
}

export const defaultRetryPolicy: RetryPolicy = {
  initialMs: 1000,
  factor: 2,
  maxMs: 3_600_000,
  jitter: 0,
  nonRetryable: [],
};

/** `retriesUsed` counts those already made: 0 gives the wait before the first. `random` is in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, retriesUsed: number, random: number): number {
  // The power becomes Infinity after many retries, and 0 times Infinity is NaN.
  const growth = Math.min(policy.factor ** retriesUsed, Number.MAX_VALUE);
  const wait = policy.initialMs * growth * (1 + policy.jitter * random);
  return Math.round(Math.min(wait, policy.maxMs, durationMsMax));
}

export function isRetryable({ nonRetryable, retryOn }: RetryPolicy, { retryable, type }: Failure): boolean {
  return retryable && !nonRetryable.includes(type) && (retryOn?.includes(type) ?? true);
}
