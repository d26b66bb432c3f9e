import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "./seeded-random.ts";

function draws(seed: number, count: number): number[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: count }, () => random.next());
}

describe("seeded chance", () => {
  test("repeats itself for the same seed, and not for another", () => {
    assert.deepEqual(draws(1, 50), draws(1, 50));
    assert.notDeepEqual(draws(1, 50), draws(2, 50));
  });

  test("is spread evenly from 0 to below 1", () => {
    const numbers = draws(7, 10_000);
    assert.ok(numbers.every((number) => number >= 0 && number < 1));
    const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
    assert.ok(Math.abs(mean - 0.5) < 0.02);
  });

  test("makes ids of version 7, the same ones for the same seed, none twice", () => {
    const [one, other] = [new SeededRandom(3), new SeededRandom(3)];
    const ids = Array.from({ length: 1000 }, () => one.uuid(1_767_571_200_000));
    assert.match(ids[0] ?? "", /^019b8b74-1800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(other.uuid(1_767_571_200_000), ids[0]);
    assert.equal(new Set(ids).size, 1000);
  });
});
