import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { countGiven, durationGiven, jsonGiven, timeGiven } from "./given-value.ts";

describe("what is given on the command line", () => {
  test("lengths of time", () => {
    const ms = ["500ms", "10s", "1.5m", "2h", "1d"].map((text) => durationGiven("--rate", text));
    assert.deepEqual(ms, [500, 10_000, 90_000, 7_200_000, 86_400_000]);
    for (const text of ["", "10", "s", "-1s", "1w"]) {
      assert.throws(() => durationGiven("--rate", text), {
        name: "UsageError",
        message: /--rate must be a time such as/,
      });
    }
  });

  test("points in time", () => {
    assert.equal(timeGiven("--from", "2026-03-01T06:00:00Z"), Date.UTC(2026, 2, 1, 6));
    assert.equal(timeGiven("--from", "1794775102033"), 1_794_775_102_033);
    assert.throws(() => timeGiven("--from", "tomorrow"), /--from must be a date/);
  });

  test("counts", () => {
    assert.equal(countGiven("-n", "5", 10), 5);
    for (const text of ["0", "11", "1.5", "x", ""]) assert.throws(() => countGiven("-n", text, 10), /from 1 to 10/);
  });

  test("JSON", () => {
    assert.deepEqual(jsonGiven("--input", '{"a":[1]}'), { a: [1] });
    assert.throws(() => jsonGiven("--input", "{a"), /--input must be JSON, @file or -/);
    assert.throws(() => jsonGiven("--input", "@nowhere.json"), /--input cannot be read/);
  });
});
