import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { type FieldRange, fieldError, numberOf, valuesOf } from "./cron-field.ts";
import { DueSearch } from "./due-search.ts";
import { addDays, daysInMonth, fromMs, type LocalTime, toMs, weekdayOf } from "./local-time.ts";

const second: FieldRange = { name: "second", min: 0, max: 59 };
const minute: FieldRange = { name: "minute", min: 0, max: 59 };
const hour: FieldRange = { name: "hour", min: 0, max: 23 };
const dayOfMonth: FieldRange = { name: "day-of-month", min: 1, max: 31 };
const year: FieldRange = { name: "year", min: 1970, max: 2199 };
const month: FieldRange = {
  name: "month",
  min: 1,
  max: 12,
  words: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const weekdayWords = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** Unix counts from 0, and takes 7 for Sunday too. */
const unixWeekday: FieldRange = { name: "day-of-week", min: 0, max: 7, count: 7, words: weekdayWords };
const quartzWeekday: FieldRange = { name: "day-of-week", min: 1, max: 7, words: weekdayWords };

const nicknames: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

const hourMs = 3_600_000;

type DayRule = (day: LocalTime) => boolean;

/**
 * A cron expression: five fields as Unix has them, or six or seven as Quartz does, with seconds first and a year last.
 * It knows nothing of time zones: it says which wall-clock times it means.
 */
export class Cron {
  readonly text: string;
  readonly #seconds: readonly number[];
  readonly #minutes: readonly number[];
  readonly #hours: readonly number[];
  readonly #isDueInHour: ReadonlySet<number>;
  readonly #months: ReadonlySet<number>;
  readonly #years: ReadonlySet<number> | undefined;
  readonly #matchesDay: DayRule;

  /** `SCHEDULE_INVALID` with the field to blame. */
  constructor(text: string) {
    this.text = text;
    const fields = fieldsOf(text);
    const isQuartz = fields.length > 5;
    const [seconds, minutes, hours, days, months, weekdays, years] = isQuartz ? fields : ["0", ...fields];
    this.#seconds = valuesOf(seconds ?? "", second);
    this.#minutes = valuesOf(minutes ?? "", minute);
    this.#hours = valuesOf(hours ?? "", hour);
    this.#isDueInHour = new Set(this.#hours);
    this.#months = new Set(valuesOf(months ?? "", month));
    this.#years = years === undefined || years === "*" ? undefined : new Set(valuesOf(years, year));
    this.#matchesDay = dayRule(days ?? "", weekdays ?? "", isQuartz);
  }

  /** True if it is due in each hour that overlaps that wall-clock time, so that it is a matter of hours that pass. */
  isHourlyWithin(fromMs: number, toMs: number): boolean {
    for (let at = Math.floor(fromMs / hourMs); at <= Math.floor(toMs / hourMs); at++) {
      if (!this.#isDueInHour.has(((at % 24) + 24) % 24)) return false;
    }
    return true;
  }

  /** The first time after that one; undefined if there is none within the search. */
  next(after: LocalTime, search = DueSearch.from(toMs(after))): LocalTime | undefined {
    const today = { ...after, hour: 0, minute: 0, second: 0 };
    const lastYear = fromMs(search.until).year;
    for (let day = today; day.year <= lastYear; day = this.#nextDay(day)) {
      search.countStep();
      if (this.#isDay(day)) {
        const time = this.#firstTime(day, day === today ? after : undefined);
        if (time !== undefined) return time;
      }
    }
    return undefined;
  }

  /** Months and years that cannot match are passed over whole. */
  #nextDay(day: LocalTime): LocalTime {
    const isLost = !this.#months.has(day.month) || this.#years?.has(day.year) === false;
    if (!isLost) return addDays(day, 1);
    return day.month === 12
      ? { ...day, year: day.year + 1, month: 1, day: 1 }
      : { ...day, month: day.month + 1, day: 1 };
  }

  #isDay(day: LocalTime): boolean {
    return this.#months.has(day.month) && this.#years?.has(day.year) !== false && this.#matchesDay(day);
  }

  #firstTime(day: LocalTime, after: LocalTime | undefined): LocalTime | undefined {
    const from = after === undefined ? -1 : (after.hour * 60 + after.minute) * 60 + after.second;
    for (const h of this.#hours) {
      if ((h * 60 + 59) * 60 + 59 <= from) continue;
      for (const m of this.#minutes) {
        if ((h * 60 + m) * 60 + 59 <= from) continue;
        for (const s of this.#seconds) {
          if ((h * 60 + m) * 60 + s > from) return { ...day, hour: h, minute: m, second: s };
        }
      }
    }
    return undefined;
  }
}

function fieldsOf(text: unknown): string[] {
  if (typeof text !== "string") {
    throw new EngineError("SCHEDULE_INVALID", `a cron expression is text, got ${preview(text)}`);
  }
  const trimmed = text.trim();
  const nickname = nicknames.get(trimmed.toLowerCase());
  const fields = (nickname ?? trimmed).split(/\s+/);
  if (fields.length >= 5 && fields.length <= 7) return fields;
  const known = trimmed.startsWith("@") ? `, or is one of ${[...nicknames.keys()].join(", ")}` : "";
  throw new EngineError(
    "SCHEDULE_INVALID",
    `a cron expression has 5 fields, or 6 or 7 with seconds and years${known}, got ${JSON.stringify(text)}`,
  );
}

/** Unix: where both fields are restricted, one of them is enough. Quartz: one of them is `?`. */
function dayRule(days: string, weekdays: string, isQuartz: boolean): DayRule {
  const isAnyDay = days === "*" || days === "?";
  const isAnyWeekday = weekdays === "*" || weekdays === "?";
  if (isQuartz && !isAnyDay && !isAnyWeekday) {
    throw fieldError(dayOfMonth, days, 'cannot be given together with a day of the week: one of them must be "?"');
  }
  if (!isQuartz && (days === "?" || weekdays === "?")) {
    throw fieldError(dayOfMonth, "?", "belongs to expressions with seconds, which have 6 or 7 fields");
  }
  if (days === "?" && weekdays === "?") throw fieldError(dayOfMonth, "?", "cannot be in both fields of days");
  if (isAnyDay && isAnyWeekday) return () => true;
  const byDay = monthDayRule(days);
  const byWeekday = weekdayRule(weekdays, isQuartz ? quartzWeekday : unixWeekday);
  if (isAnyDay) return byWeekday;
  if (isAnyWeekday) return byDay;
  return (day) => byDay(day) || byWeekday(day);
}

/** `L`, `L-3`, `LW`, `15W`, or plain values. */
function monthDayRule(text: string): DayRule {
  if (text === "*" || text === "?") return () => true;
  const rules = text.split(",").map((part): DayRule => {
    const last = /^L(?:-(\d+))?(W)?$/i.exec(part);
    if (last !== null) {
      const before = Number(last[1] ?? 0);
      if (before > 30) throw fieldError(dayOfMonth, part, "goes back further than a month");
      return (day) => isOn(day, daysInMonth(day) - before, last[2] !== undefined);
    }
    const near = /^(\d+)W$/i.exec(part);
    if (near !== null) {
      const target = numberOf(near[1] ?? "", dayOfMonth);
      return (day) => target <= daysInMonth(day) && isOn(day, target, true);
    }
    const values = new Set(valuesOf(part, dayOfMonth));
    return ({ day }) => values.has(day);
  });
  return (day) => rules.some((rule) => rule(day));
}

/** True if the day is that day of the month, or the weekday nearest to it in the same month. */
function isOn(day: LocalTime, target: number, isNearest: boolean): boolean {
  return day.day === (isNearest ? nearestWeekday(day, target) : target);
}

function nearestWeekday(day: LocalTime, target: number): number {
  const weekday = weekdayOf({ ...day, day: target });
  if (weekday === 6) return target === 1 ? 3 : target - 1;
  if (weekday === 0) return target === daysInMonth(day) ? target - 2 : target + 1;
  return target;
}

/** `6L` (the last Friday, in Quartz's numbers), `6#3` (the third), `L` (Saturday), or plain values. */
function weekdayRule(text: string, range: FieldRange): DayRule {
  if (text === "*" || text === "?") return () => true;
  const numbered = (word: string): number => (numberOf(word, range) - range.min) % 7;
  const rules = text.split(",").map((part): DayRule => {
    if (/^L$/i.test(part)) return (day) => weekdayOf(day) === 6;
    const last = /^(\w+)L$/i.exec(part);
    if (last !== null && /^(\d|[A-Z]{3})$/i.test(last[1] ?? "")) {
      const weekday = numbered(last[1] ?? "");
      return (day) => weekdayOf(day) === weekday && day.day + 7 > daysInMonth(day);
    }
    const nth = /^(\w+)#(\d)$/.exec(part);
    if (nth !== null) {
      const weekday = numbered(nth[1] ?? "");
      const count = Number(nth[2]);
      if (count < 1 || count > 5) throw fieldError(range, part, "is not one of the five weeks of a month");
      return (day) => weekdayOf(day) === weekday && Math.ceil(day.day / 7) === count;
    }
    const values = new Set(valuesOf(part, range).map((value) => (value - range.min) % 7));
    return (day) => values.has(weekdayOf(day));
  });
  return (day) => rules.some((rule) => rule(day));
}
