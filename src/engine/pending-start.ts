import type { EngineError } from "../base/error.ts";
import type { Reply } from "../runtime/message.ts";
import type { OutageCaller, OutageDeadline } from "./outage-deadline.ts";
import type { SubmissionLimiter } from "./submission-limiter.ts";

/**
 * A submission whose start is being written. It is its caller's promise, the reply to the first turn and the entry with
 * the outage deadline in one object, because a promise for each is a large part of what a submission allocates.
 */
export class PendingStart implements Reply<void>, OutageCaller {
  readonly callType = "StartInstance";
  readonly instanceId: string;
  place = -1;
  readonly #caller = Promise.withResolvers<void>();
  readonly #limiter: SubmissionLimiter;
  readonly #outage: OutageDeadline;
  #isSettled = false;

  constructor(instanceId: string, limiter: SubmissionLimiter, outage: OutageDeadline) {
    this.instanceId = instanceId;
    this.#limiter = limiter;
    this.#outage = outage;
    outage.add(this);
  }

  /** Resolves when the instance is durable. */
  get promise(): Promise<void> {
    return this.#caller.promise;
  }

  resolve(): void {
    this.#settle();
    this.#caller.resolve();
  }

  reject(error: unknown): void {
    this.#settle();
    this.#caller.reject(error);
  }

  onOutage(error: EngineError): void {
    this.reject(error);
  }

  /** A start that an outage has rejected may land later, and is settled a second time. */
  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#outage.delete(this);
    this.#limiter.leave();
  }
}
