/** A pending call; `cancel` is idempotent and harmless after it fired. */
export interface Timer {
  cancel(): void;
}

/** Time is passed in, so that tests and the simulator own it. */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds since some moment. Never jumps, and may stand still while the machine is suspended. */
  monotonic(): number;
  /** Calls back once, not before `delayMs` have passed. Any delay is allowed, however long. */
  after(delayMs: number, callback: () => void): Timer;
  /** Calls back when the events now at hand have been handled; work that arrives together shares one call. */
  soon(callback: () => void): void;
}
