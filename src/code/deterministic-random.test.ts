import assert from "node:assert/strict";
import { test } from "node:test";
import { DeterministicRandom } from "./deterministic-random.ts";

test("the numbers of an instance never change: replays for ever depend on them", () => {
  const random = new DeterministicRandom("i:1");
  assert.deepEqual(
    [random.next(), random.next(), random.uuid()],
    [0.07406863383948803, 0.9523252102080733, "11d146e3-1ac5-4517-9c1c-c9c051c425a7"],
  );
});

test("another text gives other numbers", () => {
  assert.notEqual(new DeterministicRandom("i:1").next(), new DeterministicRandom("i:2").next());
  assert.notEqual(new DeterministicRandom("").next(), new DeterministicRandom("0").next());
});

test("they lie in [0, 1), and everywhere in it", () => {
  const random = new DeterministicRandom("spread");
  const tenths = new Array<number>(10).fill(0);
  for (let n = 0; n < 10_000; n++) {
    const drawn = random.next();
    assert.ok(drawn >= 0 && drawn < 1);
    tenths[Math.floor(drawn * 10)] = (tenths[Math.floor(drawn * 10)] ?? 0) + 1;
  }
  for (const count of tenths) assert.ok(count > 850 && count < 1150, String(tenths));
});

test("a uuid is of version 4, and none comes twice", () => {
  const random = new DeterministicRandom("ids");
  const ids = new Set(Array.from({ length: 1000 }, () => random.uuid()));
  assert.equal(ids.size, 1000);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
