import assert from "node:assert/strict";
import { test } from "node:test";
import { TestClock } from "../../testing/test-clock.ts";
import { RateLimit } from "./rate-limit.ts";

test("so many pass in a window, and the next window begins anew", async () => {
  const clock = new TestClock();
  const limit = new RateLimit({ clock, max: 2, windowMs: 10_000 });
  assert.deepEqual([limit.take("a"), limit.take("a"), limit.take("a")], [undefined, undefined, 10]);
  assert.equal(limit.take("b"), undefined);
  await clock.advance(9500);
  assert.equal(limit.take("a"), 1);
  await clock.advance(500);
  assert.equal(limit.take("a"), undefined);
});

test("keys are forgotten before there are too many", async () => {
  const clock = new TestClock();
  const limit = new RateLimit({ clock, max: 1, windowMs: 1000 });
  for (let key = 0; key < 20_000; key++) limit.take(`early ${key}`);
  assert.equal(limit.take("early 19999"), 1);
  assert.equal(limit.take("early 0"), undefined);
});
