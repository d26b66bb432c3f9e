import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { hasCode } from "../base/error.ts";
import type { ScheduleSpec, Timing } from "./schedule-spec.ts";
import { latestDueTimes, timetableOf } from "./timetable.ts";

const newYork = "America/New_York";

/** Due times in Greenwich. */
function due(every: Timing, after: string, count: number, more: Partial<ScheduleSpec> = {}): string[] {
  const from = Date.parse(after);
  const timetable = timetableOf({ every, ...more }, from);
  const times: string[] = [];
  for (let at = timetable.next(from); at !== undefined && times.length < count; at = timetable.next(at)) {
    times.push(`${new Date(at).toISOString().slice(0, 16)}Z`);
  }
  return times;
}

describe("where the clock is put forward", () => {
  // On 8 March 2026 New York goes from 02:00 to 03:00, which is 07:00 in Greenwich.
  test("a time that does not exist is due right after the gap", () => {
    const times = due({ cron: "30 2 * * *", timeZone: newYork }, "2026-03-07T00:00:00Z", 3);
    assert.deepEqual(times, ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]);
  });

  test("or not at all", () => {
    const times = due({ cron: "30 2 * * *", timeZone: newYork, inGap: "skip" }, "2026-03-07T00:00:00Z", 2);
    assert.deepEqual(times, ["2026-03-07T07:30Z", "2026-03-09T06:30Z"]);
  });

  test("what is due every half hour stays so", () => {
    const times = due({ cron: "*/30 * * * *", timeZone: newYork }, "2026-03-08T06:00:00Z", 4);
    assert.deepEqual(times, ["2026-03-08T06:30Z", "2026-03-08T07:00Z", "2026-03-08T07:30Z", "2026-03-08T08:00Z"]);
  });
});

describe("what is due in every hour keeps its interval where the clock is put forward", () => {
  // On 29 March 2026 Berlin goes from 02:00 to 03:00, which is 01:00 in Greenwich.
  const after = "2026-03-29T00:00:00Z";
  const timeZone = "Europe/Berlin";
  for (const cron of ["15 * * * *", "0 15 0-23 * * ?", "15 */1 * * *", "15 0-5 * * *"]) {
    test(`${cron}: nothing is due at the change`, () => {
      assert.deepEqual(
        due({ cron, timeZone }, after, 3),
        ["00:15", "01:15", "02:15"].map((time) => `2026-03-29T${time}Z`),
      );
    });
  }

  test("unless it is asked for", () => {
    const times = due({ cron: "15 * * * *", timeZone, inGap: "shift" }, after, 3);
    assert.deepEqual(
      times,
      ["00:15", "01:00", "01:15"].map((time) => `2026-03-29T${time}Z`),
    );
  });

  test("every second hour is a matter of fixed hours", () => {
    const times = due({ cron: "0 */2 * * *", timeZone }, "2026-03-28T22:00:00Z", 3);
    assert.deepEqual(times, ["2026-03-28T23:00Z", "2026-03-29T01:00Z", "2026-03-29T02:00Z"]);
  });
});

describe("where the clock is put back", () => {
  // On 1 November 2026 New York has the hour from 01:00 twice: from 05:00 and from 06:00 in Greenwich.
  const cases = [
    [undefined, ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    ["first", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    ["last", ["2026-11-01T06:30Z", "2026-11-02T06:30Z"]],
    ["both", ["2026-11-01T05:30Z", "2026-11-01T06:30Z"]],
  ] as const;
  for (const [whenTwice, expected] of cases) {
    test(`a time that comes twice is due once, or twice: ${whenTwice ?? "by default"}`, () => {
      const every = { cron: "30 1 * * *", timeZone: newYork, ...(whenTwice && { whenTwice }) };
      assert.deepEqual(due(every, "2026-10-31T12:00:00Z", 2), expected);
    });
  }

  test("what is due in every hour is due in both", () => {
    const times = due({ cron: "*/30 * * * *", timeZone: newYork }, "2026-11-01T04:45:00Z", 5);
    const expected = ["05:00", "05:30", "06:00", "06:30", "07:00"].map((time) => `2026-11-01T${time}Z`);
    assert.deepEqual(times, expected);
  });
});

test("due times go up, whatever the zone, the pattern and the moment; and asking from just before one gives it again", () => {
  const zones = ["UTC", newYork, "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo"];
  const patterns = ["*/7 * * * *", "30 2 * * *", "0 */3 * * *", "15 1,2,3 * * SUN", "0 0 1 * *"];
  const first = Date.UTC(2026, 0, 1);
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...patterns),
      fc.constantFrom("first" as const, "last" as const, "both" as const),
      fc.constantFrom("shift" as const, "skip" as const),
      fc.integer({ min: first, max: first + 366 * 86_400_000 }),
      (timeZone, cron, whenTwice, inGap, after) => {
        const timetable = timetableOf({ every: { cron, timeZone, whenTwice, inGap } }, 0);
        let before = after;
        for (let step = 0; step < 20; step++) {
          const at = timetable.next(before);
          assert.ok(at !== undefined && at > before);
          assert.equal(timetable.next(at - 1), at);
          assert.equal(timetable.next(Math.floor((before + at) / 2)), at);
          before = at;
        }
      },
    ),
    { numRuns: 60 },
  );
});

// Slow enough to be noticed where each due time costs a look at all others around the change.
for (const [what, change] of Object.entries({ forward: "2026-03-29T01:00:00Z", back: "2026-10-25T01:00:00Z" })) {
  test(`what is due every second goes on when the clock is put ${what}`, () => {
    const every = { cron: "* * * * * ?", timeZone: "Europe/Berlin" };
    const timetable = timetableOf({ every }, 0);
    const end = Date.parse(change) + 150_000;
    for (let at = end - 300_000; at < end; at += 1000) assert.equal(timetable.next(at), at + 1000);
  });
}

describe("other timings", () => {
  test("a rate counts from the start, whatever has passed", () => {
    assert.deepEqual(due({ rateMs: 90 * 60_000 }, "2026-01-01T00:00:00Z", 2), [
      "2026-01-01T01:30Z",
      "2026-01-01T03:00Z",
    ]);
  });

  test("hours of the day, on some days", () => {
    const every = { daily: { from: "09:00", to: "10:00", everyMs: 1_800_000, weekdays: [1, 5] }, timeZone: newYork };
    assert.deepEqual(due(every, "2026-11-01T04:45:00Z", 4), [
      "2026-11-02T14:00Z",
      "2026-11-02T14:30Z",
      "2026-11-02T15:00Z",
      "2026-11-06T14:00Z",
    ]);
  });

  test("nothing is due before the start or after the end", () => {
    const limits = { startAt: Date.parse("2026-01-02T00:00:00Z"), endAt: Date.parse("2026-01-02T01:00:00Z") };
    const every = { cron: "0 * * * *", timeZone: "UTC" };
    assert.deepEqual(due(every, "2026-01-01T00:00:00Z", 9, limits), ["2026-01-02T00:00Z", "2026-01-02T01:00Z"]);
  });

  const bad: readonly [every: Timing, problem: RegExp][] = [
    [{ rateMs: 0 }, /rateMs must be a whole number of milliseconds, at least 1 and at most 3162240000000, got 0/],
    [{ delayMs: Number.NaN }, /delayMs must be/],
    [{ cron: "* * * * *", timeZone: "Mars/Olympus" }, /"Mars\/Olympus" is not a time zone/],
    [{ daily: { from: "9", to: "10:00", everyMs: 1 } }, /HH:MM/],
    [{ daily: { from: "11:00", to: "10:00", everyMs: 1 } }, /daily.to \(10:00\) is before daily.from/],
    [{ daily: { from: "09:00", to: "10:00", everyMs: 1, weekdays: [7] } }, /from 0, which is Sunday, to 6/],
  ];
  for (const [every, problem] of bad) {
    test(`refused: ${JSON.stringify(every)}`, () => {
      const make = (): void => void timetableOf({ every }, 0).next(0);
      assert.throws(make, (error) => hasCode(error, "SCHEDULE_INVALID") && problem.test(error.message));
    });
  }
});

test("the last due times of a long absence are found without a look at those before", () => {
  let looks = 0;
  const counted = (spec: Timing): ReturnType<typeof timetableOf> => {
    const timetable = timetableOf({ every: spec }, 0);
    return { next: (after) => (looks++, timetable.next(after)) };
  };
  const until = Date.UTC(2026, 0, 1);
  const after = until - 365 * 86_400_000;
  for (const every of [{ rateMs: 1000 }, { cron: "* * * * * ?", timeZone: "Europe/Berlin" }]) {
    const due = latestDueTimes(counted(every), { after, until }, 1000);
    assert.deepEqual([due.length, due[0], due.at(-1)], [1000, until - 999_000, until]);
    assert.deepEqual(latestDueTimes(counted(every), { after, until }, 1), [until]);
  }
  assert.ok(looks < 20_000, `${looks} looks`);
  assert.deepEqual(latestDueTimes(counted({ rateMs: 1000 }), { after: until, until }, 1000), []);
  assert.equal(latestDueTimes(counted({ rateMs: 86_400_000 }), { after, until }, 1000).length, 365);
});
