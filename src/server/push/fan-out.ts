import type { Clock, Timer } from "../../base/clock.ts";

/** After a round it rests so many times as long: with work beside it, it takes a tenth of the time; otherwise half. */
const restFactors = { busy: 9, idle: 1 } as const;

/** Of the time between two rounds: from here on others need it. */
const busyFrom = 0.5;

/** A round ends then, whoever is left: nothing else happens meanwhile. */
const roundMsMax = 10;

/** When a round could not give everybody everything, the next one is not sooner. */
const againMs = 5;

/**
 * When the next round of sending is. With little to send, right after the events at hand, so that the changes of one
 * commit go together; the longer a round takes, the rarer and the larger they become.
 */
export class FanOut {
  readonly #clock: Clock;
  readonly #round: (isOver: () => boolean) => boolean;
  readonly #loadSince: () => number;
  #restsUntil = 0;
  #isDue = false;
  #isStopped = false;
  #timer: Timer | undefined;

  /** `round` sends until its time is over, and gives back whether something is left. */
  constructor(clock: Clock, round: (isOver: () => boolean) => boolean, loadSince = measuredLoad()) {
    this.#clock = clock;
    this.#round = round;
    this.#loadSince = loadSince;
  }

  /** There is something to send. */
  wanted(): void {
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
    // What came up during the round, when somebody was dropped, may have planned one already.
    if (isLeft && !this.#isDue) this.#plan(againMs);
  }
}

/** Gives back how busy the event loop was since the last call, from 0 to 1. */
function measuredLoad(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
