import assert from "node:assert/strict";
import { test } from "node:test";
import { Drain, type Drained } from "./drain.ts";

/** What was asked to happen soon, to be called by hand. */
function byHand(): { drain: Drain; calls: (() => void)[] } {
  const calls: (() => void)[] = [];
  const unused = (): never => assert.fail();
  const clock = { now: unused, monotonic: unused, after: unused, soon: (call: () => void) => void calls.push(call) };
  return { drain: new Drain(clock), calls };
}

test("those who ask at the same time share one turn of the event loop", () => {
  const { drain, calls } = byHand();
  const told: number[] = [];
  for (const n of [1, 2, 3]) drain.wait({ drained: () => void told.push(n) });
  assert.deepEqual([calls.length, told], [1, []]);
  calls[0]?.();
  assert.deepEqual(told, [1, 2, 3]);
});

test("who asks after that, or because of that, waits for the next", () => {
  const { drain, calls } = byHand();
  const told: string[] = [];
  const again: Drained = { drained: () => void told.push("again") };
  drain.wait({
    drained: () => {
      told.push("first");
      drain.wait(again);
    },
  });
  calls[0]?.();
  assert.deepEqual([calls.length, told], [2, ["first"]]);
  calls[1]?.();
  assert.deepEqual(told, ["first", "again"]);
});
