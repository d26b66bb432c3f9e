import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TestClock } from "../testing/test-clock.ts";
import { type BoundedCall, LocalCalls } from "./local-calls.ts";

function rig() {
  const clock = new TestClock();
  const calls = new LocalCalls(clock);
  const given: string[] = [];
  /** Adds a call under a name. */
  const add = (name: string, timeoutMs: number): BoundedCall => {
    const call: BoundedCall = {
      until: clock.monotonic() + timeoutMs,
      place: -1,
      onTime: () => given.push(`${name}: time is up`),
      giveUp: (reason) => given.push(`${name}: ${String(reason)}`),
    };
    calls.add(call);
    return call;
  };
  return { clock, calls, given, add };
}

describe("own calls", () => {
  test("that have ended are not given up, and end once", async () => {
    const { clock, calls, given, add } = rig();
    const ended = [add("a", 100), add("b", 200), add("c", 300), add("d", 400)];
    const [, b, , d] = ended;
    assert.ok(b && d);
    assert.deepEqual([calls.delete(b), calls.delete(b), calls.delete(d)], [true, false, true]);
    await clock.advance(1000);
    assert.deepEqual(given, ["a: time is up", "c: time is up"]);
    assert.deepEqual(
      ended.map((call) => calls.delete(call)),
      [false, false, false, false],
    );
  });

  test("are given up each at its own time, however the times are mixed", async () => {
    const { clock, calls, given, add } = rig();
    add("slow", 300);
    add("quick", 100);
    await clock.advance(50);
    add("middle", 150);
    add("for ever", Infinity);
    const last = add("last", 1000);
    await clock.advance(49);
    assert.deepEqual(given, []);
    await clock.advance(1);
    assert.deepEqual(given, ["quick: time is up"]);
    await clock.advance(100);
    await clock.advance(100);
    assert.deepEqual(given.slice(1), ["middle: time is up", "slow: time is up"]);
    assert.equal(calls.delete(last), true);
    await clock.advance(10_000);
    assert.deepEqual(given.slice(3), []);
  });

  test("may be added by a call that is given up", async () => {
    const { clock, calls, given, add } = rig();
    calls.add({ until: clock.monotonic() + 100, place: -1, onTime: () => add("again", 50), giveUp: () => undefined });
    await clock.advance(100);
    assert.deepEqual(given, []);
    await clock.advance(50);
    assert.deepEqual(given, ["again: time is up"]);
  });

  test("are rejected together, and are over then", async () => {
    const { clock, calls, given, add } = rig();
    const first = add("a", 100);
    add("b", Infinity);
    calls.rejectAll("stopped");
    assert.equal(calls.delete(first), false);
    await clock.advance(1000);
    assert.deepEqual(given, ["a: stopped", "b: stopped"]);
    add("c", 100);
    await clock.advance(100);
    assert.deepEqual(given.slice(2), ["c: time is up"]);
  });
});
