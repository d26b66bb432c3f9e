/** Whatever a timing is made of, a walk over its due times gets ahead and ends, or the timing is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { hasCode } from "../base/error.ts";
import { durationMsMax } from "../base/time-limits.ts";
import type { Timing } from "./schedule-spec.ts";
import { dueTimesWithin, latestDueTimes, refuseNeverDue, type Timetable, timetableOf } from "./timetable.ts";

const now = Date.UTC(2026, 0, 5, 12);

/** Fractions, tiny, huge and negative numbers, and what is none. */
const anyNumber = fc.oneof(
  fc.integer({ min: 1, max: 10_000 }),
  fc.integer({ min: 1, max: durationMsMax }),
  fc.double({ min: 0, max: 10_000 }),
  fc.double(),
  fc.constantFrom(
    10_000 / 7,
    1000 / 3,
    1000.1,
    0.1,
    1e-300,
    1e14,
    1e15,
    2 ** 53,
    1e20,
    1e300,
    Infinity,
    NaN,
    0,
    -1,
    -0.5,
  ),
);
const moment = fc.oneof(fc.integer({ min: now - durationMsMax, max: now + durationMsMax }), anyNumber);
const clockText = fc.constantFrom("00:00", "09:00", "09:00:01", "23:59:59");

const timing: fc.Arbitrary<Timing> = fc.oneof(
  anyNumber.map((rateMs) => ({ rateMs })),
  anyNumber.map((delayMs) => ({ delayMs })),
  fc.record({ from: clockText, to: clockText, everyMs: anyNumber }).map((daily) => ({
    daily,
    timeZone: "Europe/Berlin",
  })),
  fc
    .constantFrom("* * * * * ?", "0 0 * * *", "30 2 * * *", "0 0 29 2 *", "0 0 30 2 *")
    .map((cron) => ({ cron, timeZone: "Europe/Berlin" })),
);

const bounds = fc.record({ startAt: moment, endAt: moment }, { requiredKeys: [] });

function isAccepted(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    assert.ok(hasCode(error, "SCHEDULE_INVALID"), String(error));
    return false;
  }
}

test("each due time is a whole number of ms after the one before, and a valid date, for every timing that is accepted", () => {
  let accepted = 0;
  fc.assert(
    fc.property(timing, bounds, fc.integer({ min: 0, max: durationMsMax }), (every, range, agoMs) => {
      if (!isAccepted(() => refuseNeverDue({ every, ...range }, now))) return;
      accepted += 1;
      const timetable = timetableOf({ every, ...range }, now);
      for (const from of [now, now - agoMs, now + 0.5, now - 1 / 3]) {
        let at = from;
        for (let step = 0; step < 20; step++) {
          const next = timetable.next(at);
          if (next === undefined) break;
          assert.ok(Number.isInteger(next) && next > at && next <= at + durationMsMax, `${next} after ${at}`);
          assert.ok(new Date(next).toISOString() !== "");
          at = next;
        }
      }
    }),
    { numRuns: 1000 },
  );
  // About 120 are accepted on average: a bound that is close to it fails at random.
  assert.ok(accepted > 50, `${accepted} timings`);
});

test("an interval that is no whole number of ms, or longer than a century, is refused", () => {
  const wrong = [10_000 / 7, 1000.1, 0.5, 0, -1, NaN, Infinity, 1e20, durationMsMax + 1];
  for (const ms of wrong) {
    const timings: Timing[] = [{ rateMs: ms }, { delayMs: ms }, { daily: { from: "00:00", to: "23:59", everyMs: ms } }];
    for (const every of timings) assert.ok(!isAccepted(() => void timetableOf({ every }, now)), JSON.stringify(every));
  }
});

/** How many due times were looked for. */
function counted(timetable: Timetable): Timetable & { looks: number } {
  const counting = { looks: 0, next: (after: number) => ((counting.looks += 1), timetable.next(after)) };
  return counting;
}

test("the latest due times are found in few looks, also where all of them lie close together long ago", () => {
  const january = { cron: "* * * 1 1 ?", timeZone: "UTC" };
  const until = Date.UTC(2026, 10, 1);
  const after = Date.UTC(2025, 11, 1);
  for (const [every, count] of [
    [{ rateMs: 1 }, 1],
    [{ rateMs: 1 }, 1000],
    [january, 1],
    [january, 1000],
  ] as const) {
    const timetable = counted(timetableOf({ every, startAt: after }, after));
    const due = latestDueTimes(timetable, { after, until }, count);
    const last = "cron" in every ? Date.UTC(2026, 0, 1, 23, 59, 59) : until;
    const stepMs = "cron" in every ? 1000 : 1;
    assert.deepEqual([due.length, due[0], due.at(-1)], [count, last - (count - 1) * stepMs, last]);
    assert.ok(timetable.looks < 100_000, `${timetable.looks} looks`);
  }
});

test("a range with too many due times is given up after so many", () => {
  const timetable = counted(timetableOf({ every: { rateMs: 1 } }, 0));
  assert.equal(dueTimesWithin(timetable, { after: 0, until: now }, 10_000), undefined);
  assert.ok(timetable.looks <= 10_001);
  assert.equal(dueTimesWithin(timetable, { after: 0, until: 10_000 }, 10_000)?.length, 10_000);
});
