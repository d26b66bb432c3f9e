import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { scheduleOf } from "./imported-schedule.ts";

describe("9.1 schedules of PowerJob", () => {
  const rest = { lifecycle: null, status: 1 };
  const daily = JSON.stringify({
    interval: 30,
    intervalUnit: "MINUTES",
    startTimeOfDay: "18:00:00",
    endTimeOfDay: "20:00:00",
    daysOfWeek: [2, 3],
  });
  const cases: readonly (readonly [type: number | null, expression: string | null, every: object | undefined])[] = [
    [1, null, undefined],
    [5, null, undefined],
    [null, "0 0 2 * * ?", undefined],
    [2, " 0 0 2 * * ? ", { cron: "0 0 2 * * ?" }],
    [2, "", undefined],
    [3, "1000", { rateMs: 1000 }],
    [4, "1000", { delayMs: 1000 }],
    [3, "often", undefined],
    [3, "0", undefined],
    [11, daily, { daily: { from: "18:00:00", to: "20:00:00", everyMs: 1_800_000, weekdays: [1, 2] } }],
    [11, '{"interval":"x"}', undefined],
    [11, "{", undefined],
  ];
  for (const [timeExpressionType, timeExpression, every] of cases) {
    test(`type ${timeExpressionType}, ${timeExpression}`, () => {
      assert.deepEqual(scheduleOf({ timeExpressionType, timeExpression, ...rest })?.every, every);
    });
  }

  test("the life cycle limits it, and a disabled one says so", () => {
    const timing = { timeExpressionType: 3, timeExpression: "1000", lifecycle: '{"start":1,"end":null}', status: 2 };
    assert.deepEqual(scheduleOf(timing), { every: { rateMs: 1000 }, startAt: 1, wasEnabled: false });
  });
});
