import type { Clock, Timer } from "../../src/base/clock.ts";
import type { EventOwner, Scheduler, SimEvent } from "./scheduler.ts";

/**
 * The DST changes: forward in America/Campo_Grande, from 00:00 to 01:00, and back in America/Miquelon, from 02:00 to
 * 01:00.
 */
export const clockChangeMs = Date.UTC(2018, 10, 4, 4);

/** Wall-clock time at virtual time 0, so that every run contains the DST changes. */
export const epochMs = clockChangeMs - 20_000;

/** The minimum delay of a timer: it never fires early, despite rounding errors of fractional sums. */
const latenessMs = 0.01;

/** The clocks of a machine. They outlive its processes. */
export class MachineTime {
  /** How far the wall clock is ahead of true time. */
  wallOffsetMs = 0;
  /** The rate of the monotonic clock: 0.95 to 1.05. */
  rate = 1;
  /** The true time for which the machine was suspended, its monotonic clock standing still. */
  suspendedMs = 0;
}

/** The clock of one process. Its timers never fire after the process has ended, and not while it is frozen. */
export class LifeClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #time: MachineTime;
  readonly #owner: EventOwner;

  constructor(scheduler: Scheduler, time: MachineTime, owner: EventOwner) {
    this.#scheduler = scheduler;
    this.#time = time;
    this.#owner = owner;
  }

  now(): number {
    return Math.floor(epochMs + this.#scheduler.now + this.#time.wallOffsetMs);
  }

  monotonic(): number {
    return (this.#scheduler.now - this.#time.suspendedMs) * this.#time.rate;
  }

  after(delayMs: number, callback: () => void): Timer {
    const dueAt = this.monotonic() + Math.max(0, delayMs);
    let event: SimEvent;
    const arm = (): void => {
      const leftMs = Math.max(0, dueAt - this.monotonic()) + latenessMs;
      event = this.#scheduler.after(leftMs / this.#time.rate, this.#owner, fire);
    };
    // If the machine was suspended meanwhile, the timer still has time to wait.
    const fire = (): void => {
      if (this.monotonic() >= dueAt) callback();
      else arm();
    };
    arm();
    return { cancel: () => event.cancel() };
  }

  soon(callback: () => void): void {
    this.#scheduler.after(0, this.#owner, callback);
  }
}
