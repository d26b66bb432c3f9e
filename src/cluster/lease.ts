import type { Clock } from "../base/clock.ts";

/** One moment on both of a machine's clocks. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * Of the two clocks the one that went further counts. The monotonic one may stand still while the machine is suspended,
 * the wall clock does not; and where the wall clock was set back, the monotonic one knows better.
 */
export function passedMs(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/**
 * How long a member may trust that nobody has taken over what it owns. It is counted on the member's own clocks, from
 * before the renewal was sent: the others begin to count later, when they see it, and are more patient.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #sent: Moment | undefined;
  #hasEnded = false;

  constructor(clock: Clock, options: { readonly leaseMs: number }) {
    this.#clock = clock;
    this.#leaseMs = options.leaseMs;
  }

  /** To be taken before a renewal is sent. */
  moment(): Moment {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  /** A renewal that was sent at that moment has succeeded, however long its answer took. */
  renew(sent: Moment): void {
    if (this.#sent === undefined || sent.monotonic >= this.#sent.monotonic) this.#sent = sent;
  }

  /** For good, whatever is still heard of renewals. */
  end(): void {
    this.#hasEnded = true;
  }

  get isValid(): boolean {
    return this.remainingMs > 0;
  }

  /** 0 if it is not valid. */
  get remainingMs(): number {
    if (this.#sent === undefined || this.#hasEnded) return 0;
    return Math.max(0, this.#leaseMs - passedMs(this.#sent, this.moment()));
  }
}
