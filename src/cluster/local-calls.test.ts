import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TestClock } from "../testing/test-clock.ts";
import { LocalCalls } from "./local-calls.ts";

function rig() {
  const clock = new TestClock();
  const calls = new LocalCalls(clock);
  const given: string[] = [];
  /** Watches a piece of work under a name. */
  const watch = (name: string, timeoutMs: number): PromiseWithResolvers<string> => {
    const work = Promise.withResolvers<string>();
    calls.bound(work.promise, { timeoutMs, onTime: () => "time is up" }).then(
      (value) => given.push(`${name}: ${value}`),
      (reason: unknown) => given.push(`${name} failed: ${String(reason)}`),
    );
    return work;
  };
  return { clock, calls, given, watch };
}

describe("own calls", () => {
  test("end as their work does", async () => {
    const { clock, given, watch } = rig();
    watch("a", 100).resolve("done");
    watch("b", 100).reject("refused");
    await clock.settle();
    assert.deepEqual(given, ["a: done", "b failed: refused"]);
    await clock.advance(1000);
    assert.equal(given.length, 2);
  });

  test("are given up each at its own time, however the times are mixed", async () => {
    const { clock, given, watch } = rig();
    watch("slow", 300);
    watch("quick", 100);
    await clock.advance(50);
    watch("middle", 150);
    watch("for ever", Infinity);
    const last = watch("last", 1000);
    await clock.advance(49);
    assert.deepEqual(given, []);
    await clock.advance(1);
    assert.deepEqual(given, ["quick failed: time is up"]);
    await clock.advance(100);
    await clock.advance(100);
    assert.deepEqual(given.slice(1), ["middle failed: time is up", "slow failed: time is up"]);
    last.resolve("in time");
    await clock.advance(10_000);
    assert.deepEqual(given.slice(3), ["last: in time"]);
  });

  test("are rejected together, and what their work says later is not heard", async () => {
    const { clock, calls, given, watch } = rig();
    const work = watch("a", 100);
    watch("b", Infinity);
    calls.rejectAll("stopped");
    work.resolve("too late");
    await clock.advance(1000);
    assert.deepEqual(given, ["a failed: stopped", "b failed: stopped"]);
    watch("c", 100);
    await clock.advance(100);
    assert.deepEqual(given.slice(2), ["c failed: time is up"]);
  });
});
