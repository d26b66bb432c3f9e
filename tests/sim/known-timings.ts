import type { CronTiming, DailyTiming } from "../../src/schedules/schedule-spec.ts";
import { clockChangeMs } from "./clock.ts";

/** A timing with known due times, which are not computed by the engine's algorithm. */
export interface KnownTiming {
  readonly every: CronTiming | DailyTiming;
  /** Due whenever the time is a multiple of this. */
  readonly stepMs?: number;
  /** Due at these times, in seconds after the DST change; all others are hours away. */
  readonly dueSeconds?: readonly number[];
}

const forward = "America/Campo_Grande";
const back = "America/Miquelon";

/** Timings of every minute or second, which are independent of time zones and DST changes. */
const steady: readonly KnownTiming[] = [
  { every: { cron: "0/3 * * * * ?", timeZone: forward }, stepMs: 3000 },
  { every: { cron: "*/5 * * * * ?", timeZone: back }, stepMs: 5000 },
  { every: { cron: "0,15,30,45 * * * * *", timeZone: forward }, stepMs: 15_000 },
  { every: { cron: "0 0/1 * * * ? *", timeZone: back }, stepMs: 60_000 },
  { every: { cron: "* * * * *", timeZone: "UTC" }, stepMs: 60_000 },
];

/**
 * Due times worked out by hand. Forward, local time goes from 23:59:59 to 01:00:00; back, it goes from 01:00:00 to
 * 01:59:59 twice.
 */
const aroundChange: readonly KnownTiming[] = [
  { every: { cron: "50 59 23 * * ?", timeZone: forward }, dueSeconds: [-10] },
  { every: { cron: "0 30 0 * * ?", timeZone: forward }, dueSeconds: [0] },
  { every: { cron: "0 30 0 * * ?", timeZone: forward, inGap: "shift" }, dueSeconds: [0] },
  { every: { cron: "0 30 0 * * ?", timeZone: forward, inGap: "skip" }, dueSeconds: [] },
  { every: { cron: "0 0 1 * * ?", timeZone: forward, inGap: "skip" }, dueSeconds: [0] },
  { every: { cron: "*/20 0 1 * * ?", timeZone: forward }, dueSeconds: [0, 20, 40] },
  { every: { cron: "50 59 1 * * ?", timeZone: back }, dueSeconds: [-10] },
  { every: { cron: "50 59 1 * * ?", timeZone: back, whenTwice: "last" }, dueSeconds: [3590] },
  { every: { cron: "50 59 1 * * ?", timeZone: back, whenTwice: "both" }, dueSeconds: [-10, 3590] },
  { every: { cron: "15 0 1 * * ?", timeZone: back }, dueSeconds: [-3585] },
  { every: { cron: "15 0 1 * * ?", timeZone: back, whenTwice: "last" }, dueSeconds: [15] },
  { every: { cron: "15 0 1 * * ?", timeZone: back, whenTwice: "both" }, dueSeconds: [-3585, 15] },
  {
    every: { daily: { from: "03:59:50", to: "04:00:30", everyMs: 8000 }, timeZone: "UTC" },
    dueSeconds: [-10, -2, 6, 14, 22, 30],
  },
  { every: { daily: { from: "00:10", to: "00:30", everyMs: 5000 }, timeZone: forward }, dueSeconds: [0] },
  {
    every: { daily: { from: "01:00:05", to: "01:00:35", everyMs: 10_000 }, timeZone: forward },
    dueSeconds: [5, 15, 25, 35],
  },
  {
    every: { daily: { from: "01:59:45", to: "01:59:58", everyMs: 6000 }, timeZone: back },
    dueSeconds: [-15, -9, -3],
  },
];

export const knownTimings = { steady, aroundChange } as const;

/** The due times after one time and not after another, epoch ms. */
export function knownDueTimes({ stepMs, dueSeconds = [] }: KnownTiming, after: number, until: number): number[] {
  if (stepMs === undefined) {
    return dueSeconds.map((second) => clockChangeMs + second * 1000).filter((at) => at > after && at <= until);
  }
  const due: number[] = [];
  for (let at = (Math.floor(after / stepMs) + 1) * stepMs; at <= until; at += stepMs) due.push(at);
  return due;
}
