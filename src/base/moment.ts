import type { Clock } from "./clock.ts";

/** One moment on both of a machine's clocks. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

export function earlier({ monotonic, wall }: Moment, ms: number): Moment {
  return { monotonic: monotonic - ms, wall: wall - ms };
}

/**
 * Elapsed time by the clock that went further. The monotonic clock may stop while the machine is suspended, the wall
 * clock does not; where the wall clock was set back, the monotonic clock is right.
 */
export function elapsedMsBetween(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

export function elapsedMs(clock: Clock, since: Moment): number {
  return elapsedMsBetween(since, momentOf(clock));
}
