import type { Clock, Timer } from "../../base/clock.ts";

/** Pause after a round, as a multiple of its duration: pushing takes a tenth of the time of a busy event loop, half of an idle one. */
const restFactors = { busy: 9, idle: 1 } as const;

/** Load of the event loop from which it counts as busy. */
const busyFrom = 0.5;

/** Time limit of a round, which blocks the event loop. */
const roundMsMax = 10;

/** Minimum pause after an incomplete round. */
const againMs = 5;

/**
 * Schedules the rounds of sending. With little to send, a round follows right after the current events, so that the changes of one
 * commit are sent together; the longer a round takes, the rarer and larger rounds become.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #round: (isOver: () => boolean) => boolean;
  readonly #loadSince: () => number;
  #restsUntil = 0;
  #isDue = false;
  #isStopped = false;
  #timer: Timer | undefined;

  /** `round` sends until its time is over, and returns whether something is left. */
  constructor(clock: Clock, round: (isOver: () => boolean) => boolean, loadSince = measuredLoad()) {
    this.#clock = clock;
    this.#round = round;
    this.#loadSince = loadSince;
  }

  /** Requests a round. */
  requestRound(): void {
    if (!this.#isDue) this.#plan(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #plan(delayMs: number): void {
    if (this.#isStopped) return;
    this.#isDue = true;
    const waitMs = Math.max(delayMs, this.#restsUntil - this.#clock.monotonic());
    if (waitMs <= 0) return this.#clock.soon(() => this.#run());
    this.#timer = this.#clock.after(waitMs, () => this.#run());
  }

  #run(): void {
    if (this.#isStopped) return;
    this.#isDue = false;
    const restFactor = this.#loadSince() >= busyFrom ? restFactors.busy : restFactors.idle;
    const begun = this.#clock.monotonic();
    const isLeft = this.#round(() => this.#clock.monotonic() - begun >= roundMsMax);
    const ended = this.#clock.monotonic();
    this.#restsUntil = ended + (ended - begun) * restFactor;
    this.#loadSince();
    // The round itself may have scheduled the next one, when it dropped a client.
    if (isLeft && !this.#isDue) this.#plan(againMs);
  }
}

/** Returns the load of the event loop since the last call, from 0 to 1. */
function measuredLoad(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
