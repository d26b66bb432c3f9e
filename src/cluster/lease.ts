import type { Clock } from "../base/clock.ts";
import { elapsedMs, type Moment, momentOf } from "../base/moment.ts";

/**
 * Lease: the time a member may trust that nobody has taken over what it owns. It is counted on the member's own clocks,
 * from before the renewal was sent: the others begin to count later, when they see it, and are more patient.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #renewalByThread: (() => Moment | undefined) | undefined;
  #sent: Moment | undefined;
  #hasLapsed = false;
  #hasEnded = false;

  /** `renewalByThread`: when the last renewal was sent that a thread made while the event loop was blocked. */
  constructor(
    clock: Clock,
    options: { readonly leaseMs: number; readonly renewalByThread?: (() => Moment | undefined) | undefined },
  ) {
    this.#clock = clock;
    this.#leaseMs = options.leaseMs;
    this.#renewalByThread = options.renewalByThread;
  }

  /** Returns the current moment, to be taken before a renewal is sent. */
  moment(): Moment {
    return momentOf(this.#clock);
  }

  /** Renews the lease from the moment at which the successful renewal was sent, however long its answer took. */
  renew(sent: Moment): void {
    if (this.#sent !== undefined && sent.monotonic < this.#sent.monotonic) return;
    this.#sent = sent;
    this.#hasLapsed = false;
  }

  /**
   * Ends the lease until its next renewal. Without this, a lease that is over because the wall clock is ahead would be
   * valid again when that is set back, after what ran was stopped, and with no timer that waits for its end.
   */
  lapse(): void {
    this.#hasLapsed = true;
  }

  /** Ends the lease for good; later renewals have no effect. */
  end(): void {
    this.#hasEnded = true;
  }

  get isValid(): boolean {
    return this.remainingMs > 0;
  }

  /** 0 if it is not valid. */
  get remainingMs(): number {
    if (this.#sent === undefined || this.#hasLapsed || this.#hasEnded) return 0;
    return Math.max(0, this.#leaseMs - elapsedMs(this.#clock, this.#lastSent(this.#sent)));
  }

  #lastSent(own: Moment): Moment {
    const other = this.#renewalByThread?.();
    return other !== undefined && other.monotonic > own.monotonic ? other : own;
  }
}
