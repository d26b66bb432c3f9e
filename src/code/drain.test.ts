import assert from "node:assert/strict";
import { test } from "node:test";
import { Drain } from "./drain.ts";

/** What was asked to happen soon, to be called by hand. */
function byHand(): { drain: Drain; calls: (() => void)[] } {
  const calls: (() => void)[] = [];
  const unused = (): never => assert.fail();
  const clock = { now: unused, monotonic: unused, after: unused, soon: (call: () => void) => void calls.push(call) };
  return { drain: new Drain(clock), calls };
}

test("those who ask at the same time share one turn of the event loop", async () => {
  const { drain, calls } = byHand();
  const seen: number[] = [];
  const waits = [1, 2, 3].map((n) => drain.wait().then(() => seen.push(n)));
  assert.equal(calls.length, 1);
  await Promise.resolve();
  assert.deepEqual(seen, []);
  calls[0]?.();
  await Promise.all(waits);
  assert.deepEqual(seen, [1, 2, 3]);
});

test("who asks after that waits for the next", async () => {
  const { drain, calls } = byHand();
  const first = drain.wait();
  calls[0]?.();
  await first;
  let isOver = false;
  const second = drain.wait().then(() => (isOver = true));
  assert.deepEqual([calls.length, isOver], [2, false]);
  calls[1]?.();
  assert.equal(await second, true);
});
