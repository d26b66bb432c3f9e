/** Due times of cron expressions, compared with a walk over every minute that knows nothing of how they are searched for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DueSearch } from "./due-search.ts";
import { timetableOf } from "./timetable.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Changes of the clock, and a day without one: by an hour, by half an hour, at midnight, a minute after it, by a whole day. */
const scenes = [
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00:00Z"],
  ["America/Sao_Paulo", "2018-02-18T02:00:00Z"],
  ["America/St_Johns", "2010-03-14T03:31:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Asia/Kathmandu", "2026-06-01T00:00:00Z"],
] as const;

interface Minute {
  readonly at: number;
  /** What the wall shows, as if it were in Greenwich. */
  readonly wall: number;
}

const minutesOf = new Map<string, readonly Minute[]>();

/** Every minute from two days before the change to four days after it. */
function minutesAround([zone, change]: readonly [string, string]): readonly Minute[] {
  const known = minutesOf.get(zone + change);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  const first = Date.parse(change) - 2 * dayMs;
  const minutes = Array.from({ length: 6 * 1440 }, (_, index) => {
    const at = first + index * minuteMs;
    return { at, wall: Date.parse(`${format.format(at).replace(" ", "T")}Z`) };
  });
  minutesOf.set(zone + change, minutes);
  return minutes;
}

interface Field {
  readonly text: string;
  readonly values: ReadonlySet<number>;
}

interface Pattern {
  readonly text: string;
  readonly minutes: Field;
  readonly hours: Field;
  readonly weekdays: Field;
}

function field(max: number): fc.Arbitrary<Field> {
  const all = Array.from({ length: max + 1 }, (_, value) => value);
  const list = fc.uniqueArray(fc.constantFrom(...all), { minLength: 1, maxLength: 4 });
  const span = fc.tuple(fc.constantFrom(...all), fc.constantFrom(...all));
  return fc.oneof(
    fc.constant({ text: "*", values: new Set(all) }),
    list.map((values) => ({ text: values.join(","), values: new Set(values) })),
    fc.constantFrom(...all.slice(1)).map((step) => ({
      text: `*/${step}`,
      values: new Set(all.filter((value) => value % step === 0)),
    })),
    // Backwards it goes around the end.
    span.map(([from, to]) => ({
      text: `${from}-${to}`,
      values: new Set(
        all.filter((value) => (from <= to ? value >= from && value <= to : value >= from || value <= to)),
      ),
    })),
  );
}

/** Hours of the night come more often: clocks are changed then. */
const nightHours = fc
  .uniqueArray(fc.constantFrom(0, 1, 2, 3, 4), { minLength: 1, maxLength: 5 })
  .map((values): Field => ({ text: values.join(","), values: new Set(values) }));

const pattern: fc.Arbitrary<Pattern> = fc
  .record({ minutes: field(59), hours: fc.oneof(field(23), nightHours), weekdays: field(6) })
  .map((fields) => ({
    ...fields,
    text: `${fields.minutes.text} ${fields.hours.text} * * ${fields.weekdays.text}`,
  }));

function fits({ minutes, hours, weekdays }: Pattern, wall: number): boolean {
  const time = new Date(wall);
  return (
    minutes.values.has(time.getUTCMinutes()) &&
    hours.values.has(time.getUTCHours()) &&
    weekdays.values.has(time.getUTCDay())
  );
}

interface Policies {
  readonly inGap?: "shift" | "skip";
  readonly whenTwice?: "first" | "last" | "both";
}

/** The due times among those minutes, in the words of the guide. */
function walk(minutes: readonly Minute[], cron: Pattern, { inGap, whenTwice }: Policies): number[] {
  const shownAt = new Map<number, number[]>();
  for (const { at, wall } of minutes) shownAt.set(wall, [...(shownAt.get(wall) ?? []), at]);
  const isHourly = (from: number, to: number): boolean => {
    for (let wall = from; wall <= to; wall += minuteMs) {
      if (!cron.hours.values.has(new Date(wall).getUTCHours())) return false;
    }
    return true;
  };
  const twice = [...shownAt].filter(([, times]) => times.length > 1).map(([wall]) => wall);
  const isHourlyInBoth = twice.length > 0 && isHourly(Math.min(...twice) - minuteMs, Math.max(...twice) + minuteMs);
  const policy = whenTwice ?? (isHourlyInBoth ? "both" : "first");
  const due: number[] = [];
  for (const [index, { at, wall }] of minutes.entries()) {
    const before = minutes[index - 1]?.wall ?? wall - minuteMs;
    let isDue = false;
    for (let gone = before + minuteMs; gone < wall; gone += minuteMs) isDue ||= fits(cron, gone);
    if (isDue && (inGap ?? (isHourly(before, wall) ? "skip" : "shift")) === "skip") isDue = false;
    const times = shownAt.get(wall) ?? [];
    const chosen = policy === "both" ? times : [policy === "first" ? times[0] : times.at(-1)];
    if (isDue || (fits(cron, wall) && chosen.includes(at))) due.push(at);
  }
  return due;
}

test("due times are those that a walk over every minute finds, around changes of the clock", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...scenes),
      pattern,
      fc.record(
        {
          inGap: fc.constantFrom("shift" as const, "skip" as const),
          whenTwice: fc.constantFrom("first" as const, "last" as const, "both" as const),
        },
        { requiredKeys: [] },
      ),
      fc.integer({ min: -dayMs, max: dayMs }),
      (scene, cron, policies, offsetMs) => {
        const after = Date.parse(scene[1]) + offsetMs;
        const until = after + dayMs;
        const expected = walk(minutesAround(scene), cron, policies).filter((at) => at > after && at <= until);
        const timetable = timetableOf({ every: { cron: cron.text, timeZone: scene[0], ...policies } }, after);
        const found: number[] = [];
        for (let at = timetable.next(after); at !== undefined && at <= until; at = timetable.next(at)) found.push(at);
        assert.deepEqual(
          found.map((at) => new Date(at).toISOString()),
          expected.map((at) => new Date(at).toISOString()),
        );
      },
    ),
    { numRuns: 150 },
  );
});

const special = fc.record({
  time: fc.constantFrom("0 30 2", "0 0 0", "* * *", "0 59 23", "0 */7 1,2"),
  days: fc.constantFrom(
    "L *",
    "L-30 *",
    "31W 2,4",
    "30 2",
    "29 2",
    "31 2,4,6,9,11",
    "LW 2",
    "? * 1L",
    "? 3 1L",
    "? 2 1#5",
    "? 10 1#5",
  ),
  year: fc.constantFrom("", "", "*", "2099", "2026", "1970-2199/50", "2199"),
});

test("each search ends after a limited number of steps, whatever is asked for", () => {
  let most = 0;
  fc.assert(
    fc.property(
      special,
      fc.constantFrom(...scenes.map(([zone]) => zone), "UTC", "Africa/Casablanca", "Antarctica/Troll"),
      fc.constantFrom("shift" as const, "skip" as const),
      fc.constantFrom("first" as const, "last" as const, "both" as const),
      fc.integer({ min: -8e15, max: 8e15 }),
      ({ time, days, year }, timeZone, inGap, whenTwice, moment) => {
        const cron = `${time} ${days}${days.startsWith("?") ? "" : " ?"} ${year}`;
        for (const after of [moment, Date.UTC(2026, 0, 1) + (moment % (50 * 366 * dayMs))]) {
          const search = DueSearch.from(after);
          const timetable = timetableOf({ every: { cron, timeZone, inGap, whenTwice } }, 0);
          const due = timetable.next(after, search);
          assert.ok(due === undefined || (due > after && due <= search.until));
          most = Math.max(most, search.steps);
        }
      },
    ),
    { numRuns: 150 },
  );
  assert.ok(most < 40_000, `${most} steps`);
});

test("a time that the clock is always put forward over is looked for up to one horizon, not again and again", () => {
  const every = { cron: "0 30 2 ? 3 1L", timeZone: "Europe/Berlin", inGap: "skip" as const };
  const search = DueSearch.from(Date.UTC(2026, 0, 1));
  assert.equal(timetableOf({ every }, 0).next(Date.UTC(2026, 0, 1), search), undefined);
  assert.ok(search.steps < 6000, `${search.steps} steps`);
});
