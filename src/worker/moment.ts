import type { Clock } from "../base/clock.ts";

/** A point in time by both clocks: the monotonic one may stand still while the machine sleeps, the other may jump. */
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

/** What certainly has not passed less: a wall clock that was set back does not matter. */
export function elapsedMs(clock: Clock, since: Moment): number {
  return Math.max(clock.monotonic() - since.monotonic, clock.now() - since.wall);
}
