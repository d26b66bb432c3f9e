import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { Cron } from "./cron.ts";
import { fromMs, toMs } from "./local-time.ts";

/** The next times after that moment on the wall. */
function next(text: string, after: string, count: number): string[] {
  const cron = new Cron(text);
  const times: string[] = [];
  for (let time = cron.next(fromMs(Date.parse(`${after}Z`))); time !== undefined; time = cron.next(time)) {
    times.push(new Date(toMs(time)).toISOString().slice(0, 19));
    if (times.length === count) break;
  }
  return times;
}

describe("a cron expression of five fields", () => {
  const cases: readonly [text: string, after: string, ...expected: string[]][] = [
    ["* * * * *", "2026-01-01T00:00:30", "2026-01-01T00:01:00", "2026-01-01T00:02:00"],
    ["*/20 8-9 * * *", "2026-01-01T08:30:00", "2026-01-01T08:40:00", "2026-01-01T09:00:00", "2026-01-01T09:20:00"],
    ["30 4 1,15 * *", "2026-01-02T00:00:00", "2026-01-15T04:30:00", "2026-02-01T04:30:00"],
    ["0 0 * JAN,mar SUN", "2026-01-25T00:00:00", "2026-03-01T00:00:00", "2026-03-08T00:00:00"],
    // 0 and 7 are Sunday.
    ["0 0 * * 7", "2026-01-01T00:00:00", "2026-01-04T00:00:00", "2026-01-11T00:00:00"],
    ["0 0 * * 0", "2026-01-01T00:00:00", "2026-01-04T00:00:00"],
    ["0 0 * * FRI-MON", "2026-01-01T00:00:00", "2026-01-02T00:00:00", "2026-01-03T00:00:00", "2026-01-04T00:00:00"],
    ["0 22-1 * * *", "2026-01-01T00:30:00", "2026-01-01T01:00:00", "2026-01-01T22:00:00", "2026-01-01T23:00:00"],
    // Where both days are restricted, one is enough.
    ["0 0 13 * 5", "2026-01-01T00:00:00", "2026-01-02T00:00:00", "2026-01-09T00:00:00", "2026-01-13T00:00:00"],
    ["0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00", "2032-02-29T00:00:00"],
    // Steps over a range that goes around the end.
    ["0 0 * * FRI-MON/2", "2026-01-01T00:00:00", "2026-01-02T00:00:00", "2026-01-04T00:00:00", "2026-01-09T00:00:00"],
    ["0 0 * * 6-2/2", "2026-01-01T00:00:00", "2026-01-03T00:00:00", "2026-01-05T00:00:00", "2026-01-10T00:00:00"],
    ["/20 * * * *", "2026-01-01T00:00:00", "2026-01-01T00:20:00", "2026-01-01T00:40:00", "2026-01-01T01:00:00"],
    ["@yearly", "2026-01-01T00:00:00", "2027-01-01T00:00:00", "2028-01-01T00:00:00"],
    ["@annually", "2026-01-01T00:00:00", "2027-01-01T00:00:00"],
    ["@monthly", "2026-01-01T00:00:00", "2026-02-01T00:00:00", "2026-03-01T00:00:00"],
    ["@weekly", "2026-01-01T00:00:00", "2026-01-04T00:00:00", "2026-01-11T00:00:00"],
    ["@daily", "2026-01-01T00:00:00", "2026-01-02T00:00:00"],
    [" @Midnight ", "2026-01-01T00:00:00", "2026-01-02T00:00:00"],
    ["@hourly", "2026-01-01T00:00:00", "2026-01-01T01:00:00"],
    ["5/15 * * * *", "2026-01-01T00:00:00", "2026-01-01T00:05:00", "2026-01-01T00:20:00", "2026-01-01T00:35:00"],
  ];
  for (const [text, after, ...expected] of cases) {
    test(text, () => assert.deepEqual(next(text, after, expected.length), expected));
  }

  test("that never comes true has no next time", () => {
    assert.deepEqual(next("0 0 30 2 *", "2026-01-01T00:00:00", 1), []);
  });
});

describe("a cron expression as Quartz has them", () => {
  const cases: readonly [text: string, after: string, ...expected: string[]][] = [
    ["15 0/5 14,18 * * ?", "2026-01-01T14:55:15", "2026-01-01T18:00:15", "2026-01-01T18:05:15"],
    ["0 15 10 ? * 6L", "2026-01-01T00:00:00", "2026-01-30T10:15:00", "2026-02-27T10:15:00"],
    ["0 15 10 ? * FRIL", "2026-01-01T00:00:00", "2026-01-30T10:15:00"],
    ["0 15 10 ? * 6#3", "2026-01-01T00:00:00", "2026-01-16T10:15:00", "2026-02-20T10:15:00"],
    ["0 0 0 ? * 1", "2026-01-01T00:00:00", "2026-01-04T00:00:00"],
    ["0 0 0 ? * L", "2026-01-01T00:00:00", "2026-01-03T00:00:00"],
    ["0 0 0 L * ?", "2026-01-01T00:00:00", "2026-01-31T00:00:00", "2026-02-28T00:00:00"],
    ["0 0 0 L-3 * ?", "2026-01-01T00:00:00", "2026-01-28T00:00:00", "2026-02-25T00:00:00"],
    ["0 0 0 LW * ?", "2026-01-01T00:00:00", "2026-01-30T00:00:00", "2026-02-27T00:00:00", "2026-03-31T00:00:00"],
    // The 15th of February and March 2026 are Sundays; the nearest weekday is the Monday.
    ["0 0 0 15W * ?", "2026-01-01T00:00:00", "2026-01-15T00:00:00", "2026-02-16T00:00:00", "2026-03-16T00:00:00"],
    // The first of August 2026 is a Saturday: the nearest weekday of that month is the third.
    ["0 0 0 1W 8 ?", "2026-01-01T00:00:00", "2026-08-03T00:00:00"],
    ["0 0 0 1 1 ? 2027/2", "2026-01-01T00:00:00", "2027-01-01T00:00:00", "2029-01-01T00:00:00"],
    ["0 0 0 1 1 ? 2027", "2027-01-01T00:00:00"],
    ["0 0 0 1 1 ? 2099", "2026-01-01T00:00:00", "2099-01-01T00:00:00"],
  ];
  for (const [text, after, ...expected] of cases) {
    test(text, () => assert.deepEqual(next(text, after, Math.max(1, expected.length)), expected));
  }
});

describe("a bad cron expression is refused with the reason:", () => {
  const cases: readonly [text: string, problem: RegExp][] = [
    ["", /5 fields, or 6 or 7/],
    ["* * *", /5 fields, or 6 or 7 .* "\* \* \*"/],
    ["61 * * * *", /the minute field: "61" is not between 0 and 59/],
    ["* 24 * * *", /the hour field: "24" is not between 0 and 23/],
    ["* * 0 * *", /the day-of-month field: "0" is not between 1 and 31/],
    ["* * * FOO *", /the month field: "FOO" is not a number/],
    ["*/0 * * * *", /the minute field: "\*\/0" has a step that is not a number above 0/],
    ["*/90 * * * *", /the minute field: "\*\/90" has a step that is larger than 59/],
    ["0 0/75 * * * ?", /the minute field: "0\/75" has a step that is larger than 59/],
    ["* */24 * * *", /the hour field/],
    ["* * * * */8", /the day-of-week field/],
    ["/ * * * *", /has a step that is not a number above 0/],
    ["0 0 12 ? * ?", /"\?" cannot be in both fields of days/],
    ["@dayly", /or is one of @yearly, .*, got "@dayly"/],
    ["constructor", /has 5 fields/],
    ["* * * constructor *", /month/],
    ["* * * * toString", /day-of-week/],
    ["1-2-3 * * * *", /the minute field: "1-2-3" is not a range/],
    ["1/2/3 * * * *", /the minute field/],
    [", * * * *", /the minute field/],
    ["* * ? * *", /belongs to expressions with seconds/],
    ["0 0 1 1 * MON", /one of them must be "\?"/],
    ["0 0 1 ? * 2#6", /"2#6" is not one of the five weeks of a month/],
    ["0 0 0 L-31 * ?", /goes back further than a month/],
    ["0 0 0 40W * ?", /"40" is not between 1 and 31/],
  ];
  for (const [text, problem] of cases) {
    test(JSON.stringify(text), () => {
      assert.throws(
        () => new Cron(text),
        (error) => hasCode(error, "SCHEDULE_INVALID") && problem.test(error.message),
      );
    });
  }
});
