import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SystemRandom } from "./system-random.ts";

const now = Date.UTC(2026, 0, 5);

describe("the system's chance", () => {
  test("gives numbers from 0 to below 1", () => {
    const random = new SystemRandom();
    for (let draw = 0; draw < 1000; draw++) {
      const number = random.next();
      assert.ok(number >= 0 && number < 1);
    }
  });

  test("makes ids of version 7 that begin with the time", () => {
    const id = new SystemRandom().uuid(now);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), now);
  });

  test("makes no id twice, also when its pool is drawn anew", () => {
    const random = new SystemRandom();
    const ids = new Set(Array.from({ length: 5000 }, () => random.uuid(now)));
    assert.equal(ids.size, 5000);
  });

  test("uses all four variants", () => {
    const random = new SystemRandom();
    const variants = new Set(Array.from({ length: 500 }, () => random.uuid(now).charAt(19)));
    assert.deepEqual([...variants].toSorted(), ["8", "9", "a", "b"]);
  });

  test("ids sort by the time they were made", () => {
    const random = new SystemRandom();
    const ids = Array.from({ length: 100 }, (_, place) => random.uuid(now + place * 1000));
    assert.deepEqual(ids.toSorted(), ids);
  });
});
