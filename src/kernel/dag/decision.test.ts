import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { edgesNotTaken } from "./decision.ts";

/** Numbered from 10 on, so that a place is never mistaken for a number. */
function edges(...properties: readonly (string | undefined)[]) {
  return properties.map((property, place) => ({ number: 10 + place, property }));
}

function failureMessage(value: unknown, ...properties: readonly (string | undefined)[]): string {
  const made = edgesNotTaken(value, edges(...properties));
  assert("failure" in made);
  assert.equal(made.failure.type, "DECISION_INVALID");
  assert.equal(made.failure.retryable, false);
  return made.failure.message;
}

describe("edges that carry only true and false", () => {
  const cases: [value: unknown, off: number[]][] = [
    [true, [11]],
    [false, [10]],
    [1, [11]],
    [0.1, [11]],
    [0, [10]],
    [-1, [10]],
    [Number.NaN, [10]],
    [7n, [11]],
    [0n, [10]],
  ];
  for (const [value, off] of cases) {
    test(`${typeof value} ${String(value)} switches ${off.join()} off`, () => {
      assert.deepEqual(edgesNotTaken(value, edges("true", "false")), { off });
    });
  }

  test("blanks and case do not matter, and a missing property is false", () => {
    assert.deepEqual(edgesNotTaken(true, edges(" True ", "FALSE", undefined, "")), { off: [11, 12, 13] });
    assert.deepEqual(edgesNotTaken(false, edges(" True ", "FALSE", undefined, "")), { off: [10] });
  });

  test("every edge may be off", () => {
    assert.deepEqual(edgesNotTaken(false, edges("true")), { off: [10] });
  });

  test("a text takes none, also one that reads true", () => {
    for (const text of ["true", " TRUE ", "False"]) failureMessage(text, "true", "false");
    assert.equal(
      failureMessage("yes", "true", undefined),
      'the decision gave "yes", which takes none of its edges ("true", ""), and none of them is "default"',
    );
    failureMessage("", "true", undefined);
  });
});

describe("edges that carry other words", () => {
  const cases: [value: unknown, properties: (string | undefined)[], off: number[]][] = [
    ["eu", ["eu", "us"], [11]],
    ["us", [" eu ", " us "], [10]],
    [" us ", ["eu", "us"], [10]],
    ["eu", ["eu", "EU", "eu"], [11]],
    ["asia", ["eu", "us", "default"], [10, 11]],
    ["EU", ["eu", " Default "], [10]],
    ["asia", ["default", "eu", "DEFAULT"], [11]],
    ["default", ["eu", "default"], [10]],
    [3, ["1", "2", "3"], [10, 11]],
    [1.5, ["1.5", "default"], [11]],
    [3n, ["3", "4"], [11]],
    [true, ["TRUE", "default"], [11]],
    [false, ["true", "default"], [10]],
    [1, ["true", "default"], [10]],
    ["eu", ["eu", undefined], [11]],
    ["", ["eu", undefined, "default"], [10, 11]],
  ];
  for (const [value, properties, off] of cases) {
    test(`${typeof value} ${JSON.stringify(String(value))} of ${JSON.stringify(properties)}`, () => {
      assert.deepEqual(edgesNotTaken(value, edges(...properties)), { off });
    });
  }

  test("no match and no default fails and says what there is", () => {
    assert.equal(
      failureMessage("asia", "eu", "us"),
      'the decision gave "asia", which takes none of its edges ("eu", "us"), and none of them is "default"',
    );
    assert.match(failureMessage(5, "1", "2"), /gave 5, .*"1", "2"/);
    assert.match(failureMessage("x".repeat(1000), "eu"), /"x{100}…"/);
  });
});

test("without edges any result will do", () => {
  assert.deepEqual(edgesNotTaken("anything", []), { off: [] });
  assert.deepEqual(edgesNotTaken(false, []), { off: [] });
});

describe("results of other types fail", () => {
  const cases: [value: unknown, described: string][] = [
    [null, "null"],
    [undefined, "undefined"],
    [[true], "a list"],
    [{ a: 1 }, "an object"],
  ];
  for (const [value, described] of cases) {
    test(described, () => {
      const message = `a decision gives true or false, a number or a text; this one gave ${described}`;
      assert.equal(failureMessage(value, "true", "default"), message);
      assert.equal(failureMessage(value), message);
    });
  }
});
