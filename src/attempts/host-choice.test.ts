import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chooseHosts } from "./host-choice.ts";

const pools = [
  { member: "a", slots: 10, free: 0 },
  { member: "b", slots: 10, free: 3 },
  { member: "c", slots: 10, free: 8 },
  { member: "d", slots: 10, free: 5 },
  { member: "e", slots: 0, free: 0 },
];

describe("the members that are asked for slots", () => {
  test("are those with free slots, most first, until twice the demand is covered, and at least two", () => {
    const ask = (demand: number): string[] => chooseHosts(pools, { demand, isUrgent: false, turn: 1 });
    assert.deepEqual([1, 6, 7, 100].map(ask), [
      ["c", "d"],
      ["c", "d"],
      ["c", "d", "b"],
      ["c", "d", "b"],
    ]);
  });

  test("are all that have slots, if attempts have waited for long", () => {
    assert.deepEqual(chooseHosts(pools, { demand: 1, isUrgent: true, turn: 1 }), ["c", "d", "b", "a"]);
  });

  test("are eight of many without a free slot, and the next ones the next time", () => {
    const full = Array.from({ length: 20 }, (_, n) => ({ member: String.fromCharCode(97 + n), slots: 1, free: 0 }));
    const ask = (turn: number): string => chooseHosts(full, { demand: 1, isUrgent: true, turn }).join("");
    assert.deepEqual([0, 1, 2, 3].map(ask), ["abcdefgh", "ijklmnop", "qrstabcd", "efghijkl"]);
    assert.deepEqual(chooseHosts(full, { demand: 1, isUrgent: false, turn: 0 }), []);
  });
});
