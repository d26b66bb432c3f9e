import { SettingCheck } from "../authoring/setting-check.ts";
import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { isMoment, isoText, momentMax, yearsMax } from "../base/time-limits.ts";
import { Cron } from "./cron.ts";
import { DueSearch } from "./due-search.ts";
import { addDays, fromMs, type LocalTime, toMs, weekdayOf } from "./local-time.ts";
import type { CronTiming, DailyTiming, ScheduleSettings, Timing } from "./schedule-spec.ts";
import { type ClockChange, TimeZone } from "./time-zone.ts";

/** Search window for clock changes; longer than any change, and than the difference of any two UTC offsets. */
const stretchMs = 2 * 86_400_000;

/** Lower bound of due times of a calendar. */
const earliest = Date.UTC(1900, 0, 1);

/** The due times of a schedule in order. Pure: the result depends on the arguments only. */
export interface Timetable {
  /**
   * Returns the first due time after that one, a whole number of ms greater than `after`, so that a walk from one due
   * time to the next ends. Undefined if there is none within the search, which is a century long unless given.
   */
  next(after: number, search?: DueSearch): number | undefined;
}

export type TimetableSpec = Pick<ScheduleSettings, "every" | "startAt" | "endAt">;

/** `SCHEDULE_INVALID`. `anchor` is when a rate begins to count. */
export function timetableOf(spec: TimetableSpec, anchor: number): Timetable {
  checkBounds(spec);
  assert(isMoment(anchor), "a rate counts from a valid time");
  const { startAt = -Infinity, endAt = Infinity } = spec;
  const timing = timingOf(spec.every, spec.startAt ?? anchor);
  return {
    next: (after, search = DueSearch.from(after)) => {
      const due = timing.next(Math.max(Math.floor(after), startAt - 1), search);
      if (due === undefined || due > endAt || due > search.until) return undefined;
      assert(Number.isInteger(due) && due > after, "a due time is a whole number of ms after the one before it");
      return due;
    },
  };
}

/** Refuses a schedule that starts nothing. `SCHEDULE_INVALID`. */
export function refuseNeverDue(spec: TimetableSpec, now: number): void {
  if (timetableOf(spec, now).next(now) !== undefined) return;
  const { every, startAt, endAt } = spec;
  const timing = "cron" in every ? `cron expression ${preview(every.cron)}` : "its timing";
  const bounds = [
    ...(startAt === undefined ? [] : [`from its startAt (${isoText(startAt)})`]),
    endAt === undefined ? `within ${yearsMax} years` : `up to its endAt (${isoText(endAt)})`,
  ];
  throw new EngineError("SCHEDULE_INVALID", `${timing} is never due ${bounds.join(" ")}, so nothing would be started`);
}

export interface TimeRange {
  /** Exclusive lower bound. */
  readonly after: number;
  /** Inclusive upper bound. */
  readonly until: number;
}

/** All due times of a range; undefined if there are more than `countMax`, so that no walk is longer than that. */
export function dueTimesWithin(
  timetable: Timetable,
  { after, until }: TimeRange,
  countMax: number,
): number[] | undefined {
  const due: number[] = [];
  for (let at = timetable.next(after); at !== undefined && at <= until; at = timetable.next(at)) {
    if (due.length === countMax) return undefined;
    due.push(at);
  }
  return due;
}

/**
 * The last so many due times of a range. Those before them are passed over: where nobody was there for long, they may be
 * millions. The walk starts further and further back until it finds enough; where it would find far too many, because
 * they lie close together long ago, its start is bisected.
 */
export function latestDueTimes(timetable: Timetable, { after, until }: TimeRange, count: number): number[] {
  const countMax = 4 * count + 1000;
  let from = Math.max(after, until - 60_000);
  let tooEarly: number | undefined;
  let tooLate = until;
  for (;;) {
    const due = dueTimesWithin(timetable, { after: from, until }, countMax);
    if (due !== undefined && (due.length >= count || from === after)) return due.slice(-count);
    if (due === undefined) tooEarly = from;
    else tooLate = from;
    from = tooEarly === undefined ? Math.max(after, until - 4 * (until - from)) : Math.floor((tooEarly + tooLate) / 2);
  }
}

const cronNames = { cron: true, timeZone: true, inGap: true, whenTwice: true } as const;
const dailyNames = { daily: true, timeZone: true } as const;
const hoursNames = { from: true, to: true, everyMs: true, weekdays: true } as const;

/** Checks that a timing has exactly one kind, and no unknown fields. `SCHEDULE_INVALID`. */
export function checkTiming(every: Timing): void {
  const check = new SettingCheck("SCHEDULE_INVALID", "a schedule");
  check.object("every", every);
  const kinds = ["cron", "daily", "rateMs", "delayMs"].filter((kind) => Object.hasOwn(every, kind));
  if (kinds.length !== 1) {
    const given = kinds.length === 0 ? Object.keys(every) : kinds;
    check.refuse(`every says when by one of cron, rateMs, delayMs and daily, got ${given.join(" and ") || "none"}`);
  }
  if ("rateMs" in every) return check.options(every, { rateMs: true }, "the parts of every");
  if ("delayMs" in every) return check.options(every, { delayMs: true }, "the parts of every");
  if ("daily" in every) {
    check.options(every, dailyNames, "the parts of every");
    return check.options(every.daily, hoursNames, "the parts of every.daily");
  }
  check.options(every, cronNames, "the parts of every");
  const { inGap, whenTwice } = every;
  if (inGap !== undefined) check.oneOf("inGap", inGap, ["shift", "skip"]);
  if (whenTwice !== undefined) check.oneOf("whenTwice", whenTwice, ["first", "last", "both"]);
}

function checkBounds({ startAt, endAt }: TimetableSpec): void {
  for (const [name, at] of Object.entries({ startAt, endAt })) {
    if (at === undefined || isMoment(at)) continue;
    const expected = `epoch milliseconds, a whole number of at most ${momentMax}`;
    throw new EngineError("SCHEDULE_INVALID", `a schedule: ${name} must be ${expected}, got ${preview(at)}`);
  }
}

function timingOf(every: Timing, anchor: number): Timetable {
  if ("cron" in every) return new CronTimetable(every);
  if ("daily" in every) return new DailyTimetable(every);
  if ("rateMs" in every) return rateTimetable(interval("rateMs", every.rateMs), anchor);
  // A delay counts from `after`, which the schedule sets at the end of each run.
  const delayMs = interval("delayMs", every.delayMs);
  return { next: (after) => after + delayMs };
}

function rateTimetable(rateMs: number, anchor: number): Timetable {
  return { next: (after) => anchor + Math.max(0, Math.floor((after - anchor) / rateMs) + 1) * rateMs };
}

function interval(name: string, ms: number): number {
  new SettingCheck("SCHEDULE_INVALID", "a schedule").wholeMs(name, ms, 1);
  return ms;
}

/**
 * Wall-clock times in a time zone with daylight saving. Between two clock changes the wall clock runs monotonically, so
 * each stretch is searched by itself, and the effect of a change is decided at its end.
 */
class CronTimetable implements Timetable {
  readonly #cron: Cron;
  readonly #zone: TimeZone;
  readonly #inGap: CronTiming["inGap"];
  readonly #whenTwice: CronTiming["whenTwice"];

  constructor({ cron, timeZone = TimeZone.ofThisProcess(), inGap, whenTwice }: CronTiming) {
    this.#cron = new Cron(cron);
    this.#zone = new TimeZone(timeZone);
    this.#inGap = inGap;
    this.#whenTwice = whenTwice;
  }

  next(after: number, search = DueSearch.from(after)): number | undefined {
    let from = Math.max(Math.floor(after / 1000) * 1000 + 1000, earliest);
    while (from <= search.until) {
      search.countStep();
      if (this.#isDueAfterGap(from, search)) return from;
      const time = this.#timeFrom(this.#firstWall(from), search);
      if (time === undefined) return undefined;
      const change = this.#zone.firstChange(from, from + stretchMs);
      const due = time - this.#zone.offset(from);
      const isInStretch = change === undefined ? due <= from + stretchMs : time < this.#endOfWall(change);
      if (isInStretch) return due <= search.until ? due : undefined;
      // No wall-clock time fits until two days before `time`: UTC offsets are smaller than that.
      from = change?.at ?? Math.max(from + stretchMs, time - stretchMs);
    }
    return undefined;
  }

  /** Returns the next time of the cron expression, in ms as if the wall clock were UTC. */
  #timeFrom(wall: number, search: DueSearch): number | undefined {
    const time = this.#cron.next(fromMs(wall - 1000), search);
    return time === undefined ? undefined : toMs(time);
  }

  /** Wall-clock times that are shown for the second time were due the first time. */
  #firstWall(from: number): number {
    const wall = from + this.#zone.offset(from);
    const change = this.#zone.firstChange(from - stretchMs, from);
    if (change === undefined || change.since > change.before || this.#policyAt(change) !== "first") return wall;
    return Math.max(wall, change.at + change.before);
  }

  /** Wall-clock times that are about to be shown again are due then. */
  #endOfWall(change: ClockChange): number {
    const isPutBack = change.since < change.before;
    return change.at + (isPutBack && this.#policyAt(change) === "last" ? change.since : change.before);
  }

  #policyAt(change: ClockChange): "first" | "last" | "both" {
    return this.#whenTwice ?? (this.#isHourlyAround(change) ? "both" : "first");
  }

  /** Wall-clock times in the gap of a clock put forward are due at the change itself. */
  #isDueAfterGap(at: number, search: DueSearch): boolean {
    const change = this.#zone.firstChange(at - 1000, at);
    if (change === undefined || change.since < change.before) return false;
    if ((this.#inGap ?? (this.#isHourlyAround(change) ? "skip" : "shift")) === "skip") return false;
    const time = this.#timeFrom(at + change.before, search);
    return time !== undefined && time < at + change.since;
  }

  /** True if the hours that are left out or come twice are among those in which it is due one after the other. */
  #isHourlyAround({ at, before, since }: ClockChange): boolean {
    return this.#cron.isHourlyWithin(at + Math.min(before, since) - 1000, at + Math.max(before, since));
  }
}

/** A fixed interval between two times of each day. */
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
    this.#everyMs = interval("daily.everyMs", daily.everyMs);
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
    // Begins with yesterday, because a clock change around midnight may make one local day end after the next has
    // begun.
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
