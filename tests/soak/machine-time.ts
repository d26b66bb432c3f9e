import { Scheduler, type EventOwner, type SimEvent } from "../sim/scheduler.ts";
import { epochMs } from "../sim/clock.ts";

/** Milliseconds of the machine's monotonic clock: the same in all its processes, whenever they began. */
function machineMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/**
 * What is added to the machine's clock to have the simulator's time, in which the wall clock shows `epochMs` at 0. It is
 * measured once: the wall clock shows whole milliseconds, so of many looks the one that says most is the nearest.
 */
export function measureShift(): number {
  let most = -Infinity;
  for (const end = machineMs() + 20; machineMs() < end;) most = Math.max(most, Date.now() - machineMs());
  return most - epochMs;
}

/** The simulator's time, as it passes by itself; all processes of a run have the same. */
export class RealTime extends Scheduler {
  readonly #shiftMs: number;

  constructor(shiftMs: number) {
    super(() => undefined);
    this.#shiftMs = shiftMs;
  }

  override get now(): number {
    return machineMs() + this.#shiftMs;
  }

  override after(delayMs: number, _owner: EventOwner | undefined, run: () => void): SimEvent {
    // A run that is over leaves nobody waiting: what keeps it alive are its processes and connections.
    const timer = setTimeout(run, delayMs).unref();
    return { at: this.now + delayMs, cancel: () => clearTimeout(timer) };
  }
}
