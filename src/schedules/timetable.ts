import { EngineError } from "../base/error.ts";
import { Cron } from "./cron.ts";
import { addDays, fromMs, type LocalTime, toMs, weekdayOf } from "./local-time.ts";
import type { CronTiming, DailyTiming, ScheduleSpec, Timing } from "./schedule-spec.ts";
import { TimeZone } from "./time-zone.ts";

const hourMs = 3_600_000;

/** Around a change of the clocks, wall-clock times do not come in their order. */
const nearMs = 3 * hourMs;

/** The times at which something is due, one after the other; pure: the same for everybody at any time. */
export interface Timetable {
  /** The first after that time; undefined if there is none. */
  next(after: number): number | undefined;
}

/** `SCHEDULE_INVALID`. `anchor` is when a rate begins to count. */
export function timetableOf(spec: ScheduleSpec, anchor: number): Timetable {
  const { startAt = -Infinity, endAt = Infinity } = spec;
  const timing = timingOf(spec.every, spec.startAt ?? anchor);
  return {
    next: (after) => {
      const due = timing.next(Math.max(after, startAt - 1));
      return due === undefined || due > endAt ? undefined : due;
    },
  };
}

function timingOf(every: Timing, anchor: number): Timetable {
  if ("cron" in every) return new CronTimetable(every);
  if ("daily" in every) return new DailyTimetable(every);
  if ("rateMs" in every) return rateTimetable(positive(every.rateMs, "rateMs"), anchor);
  // What counts from the end of a run is due at once where there was none.
  return { next: (after) => after + positive(every.delayMs, "delayMs") };
}

function rateTimetable(rateMs: number, anchor: number): Timetable {
  return { next: (after) => anchor + Math.max(0, Math.floor((after - anchor) / rateMs) + 1) * rateMs };
}

function positive(ms: number, name: string): number {
  if (Number.isFinite(ms) && ms >= 1) return ms;
  throw new EngineError("SCHEDULE_INVALID", `${name} must be a number of milliseconds, at least 1, got ${ms}`);
}

/** Wall-clock times in a zone whose clock is put forward and back. */
class CronTimetable implements Timetable {
  readonly #cron: Cron;
  readonly #zone: TimeZone;
  readonly #inGap: "shift" | "skip";
  readonly #whenTwice: "first" | "last" | "both";

  constructor({ cron, timeZone = TimeZone.ofThisProcess(), inGap = "shift", whenTwice }: CronTiming) {
    this.#cron = new Cron(cron);
    this.#zone = new TimeZone(timeZone);
    this.#inGap = inGap;
    this.#whenTwice = whenTwice ?? (this.#cron.isHourly ? "both" : "first");
  }

  next(after: number): number | undefined {
    const isNearChange = this.#zone.offset(after - nearMs) !== this.#zone.offset(after + nearMs);
    return isNearChange ? this.#nextNearChange(after) : this.#firstAfter(this.#zone.toLocal(after), after);
  }

  #firstAfter(local: LocalTime, after: number): number | undefined {
    for (let time = this.#cron.next(local); time !== undefined; time = this.#cron.next(time)) {
      const due = this.#instantsOf(time).find((at) => at > after);
      if (due !== undefined) return due;
    }
    return undefined;
  }

  /** Before a change and after it, times come in the order of the wall; what the change does to the wall is in between. */
  #nextNearChange(after: number): number | undefined {
    const change = this.#zone.changeBetween(after - nearMs, after + nearMs);
    const [before, since] = [this.#zone.offset(change - 1), this.#zone.offset(change)];
    if (after < change) {
      const due = this.#nextBeforeChange(after, change, [before, since]);
      if (due !== undefined) return due;
    }
    // What the wall shows for the second time was due the first time.
    const shownMs = change + Math.max(since, this.#whenTwice === "first" ? before : -Infinity);
    const from = Math.max(shownMs - 1000, after + since);
    return this.#firstAfter(fromMs(from), Math.max(after, change - 1));
  }

  /** At the change itself is due what the clock is put forward over. */
  #nextBeforeChange(after: number, change: number, [before, since]: readonly [number, number]): number | undefined {
    const end = change + (this.#whenTwice === "last" ? Math.min(before, since) : before);
    const time = this.#cron.next(fromMs(after + before));
    if (time !== undefined && toMs(time) < end) return toMs(time) - before;
    const skipped = this.#cron.next(fromMs(change + before - 1000));
    const isInGap = skipped !== undefined && toMs(skipped) < change + since;
    return isInGap && this.#inGap === "shift" ? change : undefined;
  }

  #instantsOf(time: LocalTime): readonly number[] {
    const instants = this.#zone.instantsOf(time);
    if (instants.length === 0) return this.#inGap === "skip" ? [] : [this.#zone.endOfGap(time)];
    if (instants.length === 1 || this.#whenTwice === "both") return instants;
    return this.#whenTwice === "first" ? instants.slice(0, 1) : instants.slice(-1);
  }
}

/** Every so often between two times of the day. */
class DailyTimetable implements Timetable {
  readonly #zone: TimeZone;
  readonly #from: number;
  readonly #to: number;
  readonly #everyMs: number;
  readonly #weekdays: ReadonlySet<number>;

  constructor({ daily, timeZone = TimeZone.ofThisProcess() }: DailyTiming) {
    this.#zone = new TimeZone(timeZone);
    this.#from = timeOfDay(daily.from);
    this.#to = timeOfDay(daily.to);
    this.#everyMs = positive(daily.everyMs, "daily.everyMs");
    this.#weekdays = new Set(daily.weekdays ?? [0, 1, 2, 3, 4, 5, 6]);
    if (this.#to < this.#from) {
      throw new EngineError("SCHEDULE_INVALID", `daily.to (${daily.to}) is before daily.from (${daily.from})`);
    }
    if (this.#weekdays.size === 0 || [...this.#weekdays].some((day) => ![0, 1, 2, 3, 4, 5, 6].includes(day))) {
      throw new EngineError("SCHEDULE_INVALID", "daily.weekdays must hold numbers from 0, which is Sunday, to 6");
    }
  }

  next(after: number): number | undefined {
    const today = { ...this.#zone.toLocal(after), hour: 0, minute: 0, second: 0 };
    // From yesterday on: a day may begin later here than the one before it ends there.
    for (let days = -1; days <= 8; days++) {
      const due = this.#nextOn(addDays(today, days), after);
      if (due !== undefined) return due;
    }
    return undefined;
  }

  #nextOn(day: LocalTime, after: number): number | undefined {
    if (!this.#weekdays.has(weekdayOf(day))) return undefined;
    const begin = this.#instantAt(day, this.#from);
    const end = this.#instantAt(day, this.#to);
    const steps = Math.max(0, Math.floor((after - begin) / this.#everyMs) + 1);
    const due = begin + steps * this.#everyMs;
    return due <= end ? due : undefined;
  }

  #instantAt(day: LocalTime, timeMs: number): number {
    const time = fromMs(toMs(day) + timeMs);
    return this.#zone.instantsOf(time)[0] ?? this.#zone.endOfGap(time);
  }
}

function timeOfDay(text: string): number {
  const [, hour, minute, second = "0"] = /^(\d{2}):(\d{2})(?::(\d{2}))?$/.exec(text) ?? [];
  const isTime = hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  if (isTime) return ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000;
  throw new EngineError("SCHEDULE_INVALID", `a time of the day is HH:MM or HH:MM:SS, got ${JSON.stringify(text)}`);
}
