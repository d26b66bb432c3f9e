/** Spec §12.4: the calendar of a workflow's past runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InstanceSummary } from "../../console/src/api/model.ts";
import { calendarDays, calendarStart, missedTimes } from "../../console/src/workflows/calendar-days.ts";

/** A Wednesday. */
const now = Date.UTC(2026, 10, 18, 12);
const day = (date: number, hour = 2): number => Date.UTC(2026, 10, date, hour);

function run(createdAt: number, status: InstanceSummary["status"]): InstanceSummary {
  return {
    instanceId: `nightly/${new Date(createdAt).toISOString()}`,
    workflowName: "etl",
    workflowVersion: "1",
    status,
    generation: 1,
    createdAt,
    endedAt: createdAt + 1000,
    reason: null,
    quarantined: null,
    app: null,
  };
}

test("12.4 the calendar begins on a Monday and ends with this week", () => {
  assert.equal(calendarStart(now, "utc"), Date.UTC(2026, 9, 19));
  const days = calendarDays({ now, zone: "utc", runs: [], missed: [] });
  assert.equal(days.length, 35);
  assert.equal(days.at(-1)?.to, Date.UTC(2026, 10, 23));
  assert.deepEqual(
    days.filter(({ isFuture }) => isFuture).map(({ from }) => new Date(from).getUTCDate()),
    [19, 20, 21, 22],
  );
  assert.equal(calendarStart(Date.UTC(2026, 10, 22, 23), "utc"), Date.UTC(2026, 9, 19), "a Sunday ends its week");
});

test("12.4 a day counts its runs by outcome, and the due times without a run", () => {
  const runs = [run(day(16), "Success"), run(day(16, 23), "Failed"), run(day(17), "Running")];
  const days = calendarDays({ now, zone: "utc", runs, missed: [day(15), day(16, 4)] });
  const of = (date: number) => days.find(({ from }) => from === day(date, 0));
  assert.deepEqual(
    [...(of(16)?.tones ?? [])],
    [
      ["success", 1],
      ["failed", 1],
    ],
  );
  assert.equal(of(16)?.notRun, 1);
  assert.deepEqual([...(of(17)?.tones ?? [])], [["running", 1]]);
  assert.equal(of(15)?.runs, 0);
  assert.equal(of(15)?.notRun, 1);
});

test("12.4 due times are missed after the first known run only, and not if they were backfilled", () => {
  const due = [13, 14, 15, 16, 17].map((date) => day(date));
  const ids = new Set([
    `nightly/${new Date(day(14)).toISOString()}`,
    `nightly/backfill/${new Date(day(16)).toISOString()}`,
    `other/${new Date(day(17)).toISOString()}`,
  ]);
  assert.deepEqual(missedTimes("nightly", due, ids), [day(15), day(17)]);
  assert.deepEqual(missedTimes("unknown", due, ids), []);
});
