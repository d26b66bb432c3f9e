import type { Clock, Timer } from "../../src/base/clock.ts";
import type { EventOwner, Scheduler, SimEvent } from "./scheduler.ts";

/** When clocks are put forward in America/Campo_Grande, from 00:00 to 01:00, and back in America/Miquelon, from 02:00 to 01:00. */
export const clockChangeMs = Date.UTC(2018, 10, 4, 4);

/** Virtual time 0 by a clock that is right: so that in every run there are places where clocks are changed. */
export const epochMs = clockChangeMs - 20_000;

/** A timer is never early and always a little late: by more than what sums of fractions may be wrong by. */
const latenessMs = 0.01;

/** What a machine's clocks are like. They outlive the processes on it. */
export class MachineTime {
  /** By how much the wall clock is ahead of the true time. */
  wallOffsetMs = 0;
  /** The monotonic clock runs this many times as fast as it should: 0.95 to 1.05. */
  rate = 1;
  /** So much of the true time the machine was suspended, its monotonic clock standing still. */
  suspendedMs = 0;
}

/** The clocks of one life on a machine. Nobody is called back after its death, and while it is frozen, not before the thaw. */
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
    // A machine that was suspended since has more of the wait before it.
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
