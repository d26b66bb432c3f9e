import type { InstanceSummary } from "../api/model.ts";
import { startOfDay, type Zone } from "../base/format.ts";
import { type Tone, toneOf } from "../base/status.ts";

export const weeksShown = 5;
const dayMs = 86_400_000;

export interface CalendarDay {
  readonly from: number;
  readonly to: number;
  readonly isFuture: boolean;
  readonly runs: number;
  /** How many runs ended or stand how; tones without a run are left out. */
  readonly tones: ReadonlyMap<Tone, number>;
  /** Due times without a run: they were skipped, or no server ran. */
  readonly notRun: number;
}

/** The first moment of the calendar: a Monday, four weeks before the one of this week. */
export function calendarStart(now: number, zone: Zone): number {
  const today = startOfDay(now, zone);
  // A day that has 23 or 25 hours still begins within half a day of the day's beginning elsewhere.
  const monday = today - ((weekdayOf(today, zone) + 6) % 7) * dayMs;
  return startOfDay(monday - (weeksShown - 1) * 7 * dayMs + dayMs / 2, zone);
}

function weekdayOf(at: number, zone: Zone): number {
  return zone === "utc" ? new Date(at).getUTCDay() : new Date(at).getDay();
}

interface CalendarInput {
  readonly now: number;
  readonly zone: Zone;
  readonly runs: readonly InstanceSummary[];
  readonly missed: readonly number[];
}

/** Five weeks of days, with their runs by outcome. */
export function calendarDays({ now, zone, runs, missed }: CalendarInput): CalendarDay[] {
  const days: CalendarDay[] = [];
  let from = calendarStart(now, zone);
  for (let number = 0; number < weeksShown * 7; number++) {
    const to = startOfDay(from + dayMs * 1.5, zone);
    const isIn = (at: number): boolean => at >= from && at < to;
    const tones = new Map<Tone, number>();
    const ofDay = runs.filter(({ createdAt }) => isIn(createdAt));
    for (const { status } of ofDay) tones.set(toneOf(status), (tones.get(toneOf(status)) ?? 0) + 1);
    days.push({ from, to, isFuture: from > now, runs: ofDay.length, tones, notRun: missed.filter(isIn).length });
    from = to;
  }
  return days;
}

/** The due times of a schedule to which no run belongs. Runs of schedules have their due time in their id. */
export function missedTimes(scheduleId: string, due: readonly number[], ids: ReadonlySet<string>): number[] {
  const hasRun = (at: number): boolean => {
    const time = new Date(at).toISOString();
    return ids.has(`${scheduleId}/${time}`) || ids.has(`${scheduleId}/backfill/${time}`);
  };
  // Before its first known run the schedule may not have existed.
  const first = due.findIndex(hasRun);
  return first < 0 ? [] : due.slice(first).filter((at) => !hasRun(at));
}
