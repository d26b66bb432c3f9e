import type { Clock, Timer } from "../base/clock.ts";

/** setTimeout fires at once for anything longer. */
const delayMsMax = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  soon: (callback) => void setImmediate(callback),
  after: (delayMs, callback) => new SystemTimer(delayMs, callback),
};

/** By how much the monotonic clock of the process, which all its threads share, is ahead of the one of this thread. */
export function monotonicOriginMs(): number {
  return Number(process.hrtime.bigint()) / 1e6 - systemClock.monotonic();
}

class SystemTimer implements Timer {
  #timeout: NodeJS.Timeout;

  constructor(delayMs: number, callback: () => void) {
    this.#timeout = this.#wait(delayMs, callback);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  /**
   * Waits in stretches that setTimeout can represent. Adds a millisecond, because setTimeout may fire one too early.
   */
  #wait(delayMs: number, callback: () => void): NodeJS.Timeout {
    if (delayMs < delayMsMax) return setTimeout(callback, Math.ceil(delayMs) + (delayMs > 0 ? 1 : 0));
    return setTimeout(() => {
      this.#timeout = this.#wait(delayMs - delayMsMax, callback);
    }, delayMsMax);
  }
}
