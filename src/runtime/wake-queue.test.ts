import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { Clock } from "../base/clock.ts";
import { TestClock } from "../testing/test-clock.ts";
import { WakeQueue } from "./wake-queue.ts";

interface Sleeper {
  readonly name: string;
}

class Dormitory {
  readonly clock = new TestClock();
  readonly woken: string[] = [];
  readonly queue = new WakeQueue<Sleeper>(this.clock, ({ name }) => void this.woken.push(`${name} ${this.#elapsed()}`));
  readonly start = this.clock.now();

  #elapsed(): number {
    return this.clock.now() - this.start;
  }
}

describe("the wake queue", () => {
  test("is a minute late at most when the clock went on without its timers, as in a suspended machine", async () => {
    const timers = new TestClock();
    let suspendedMs = 0;
    const clock: Clock = {
      now: () => timers.now() + suspendedMs,
      monotonic: () => timers.monotonic(),
      after: (delayMs, callback) => timers.after(delayMs, callback),
      soon: (callback) => timers.soon(callback),
    };
    const woken: string[] = [];
    const queue = new WakeQueue<Sleeper>(clock, ({ name }) => void woken.push(name));
    queue.set({ name: "a" }, clock.now() + 7_200_000);
    await timers.advance(3_600_000);
    assert.deepEqual(woken, []);
    suspendedMs = 10_000_000;
    await timers.advance(60_000);
    assert.deepEqual(woken, ["a"]);
  });

  test("a wake-up is in time after the clock was set forward, although an earlier one was far away until then", async () => {
    const timers = new TestClock();
    let aheadMs = 0;
    const clock: Clock = {
      now: () => timers.now() + aheadMs,
      monotonic: () => timers.monotonic(),
      after: (delayMs, callback) => timers.after(delayMs, callback),
      soon: (callback) => timers.soon(callback),
    };
    const woken: string[] = [];
    const queue = new WakeQueue<Sleeper>(clock, ({ name }) => void woken.push(name));
    queue.set({ name: "a" }, clock.now() + 7_200_000);
    aheadMs = 10_000_000;
    queue.set({ name: "b" }, clock.now() + 300);
    await timers.advance(1);
    assert.deepEqual(woken, ["a"]);
    await timers.advance(300);
    assert.deepEqual(woken, ["a", "b"]);
  });

  test("wakes each when its time has come, the earliest first", async () => {
    const { queue, clock, woken, start } = new Dormitory();
    queue.set({ name: "b" }, start + 200);
    queue.set({ name: "a" }, start + 100);
    queue.set({ name: "c" }, start + 300);
    await clock.advance(99);
    assert.deepEqual(woken, []);
    await clock.advance(1);
    assert.deepEqual(woken, ["a 100"]);
    await clock.advance(1000);
    assert.deepEqual(woken, ["a 100", "b 200", "c 300"]);
  });

  test("wakes at once what is overdue", async () => {
    const { queue, clock, woken, start } = new Dormitory();
    queue.set({ name: "a" }, start - 5000);
    await clock.advance(0);
    assert.deepEqual(woken, ["a 0"]);
  });

  test("a later or earlier time replaces the first, and none takes it out", async () => {
    const { queue, clock, woken, start } = new Dormitory();
    const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];
    for (const sleeper of [a, b, c]) queue.set(sleeper, start + 100);
    queue.set(a, start + 500);
    queue.set(b, start + 50);
    queue.set(c, undefined);
    queue.set(c, undefined);
    await clock.advance(1000);
    assert.deepEqual(woken, ["b 50", "a 500"]);
  });

  test("has one timer for all, and none when nobody sleeps", async () => {
    const { queue, clock, start } = new Dormitory();
    const sleepers = Array.from({ length: 50 }, (_, place) => ({ name: `${place}` }));
    for (const [place, sleeper] of sleepers.entries()) queue.set(sleeper, start + 100 + place);
    assert.equal(clock.timerCount, 1);
    for (const sleeper of sleepers) queue.set(sleeper, undefined);
    assert.equal(clock.timerCount, 0);
  });

  test("leaves the event loop its share when very many are due together", async () => {
    const { queue, clock, woken, start } = new Dormitory();
    for (let place = 0; place < 1201; place++) queue.set({ name: `${place}` }, start + 10);
    const seen: number[] = [];
    const look = (): void => {
      seen.push(woken.length);
      if (woken.length < 1201) clock.after(0, look);
    };
    clock.after(10, look);
    await clock.advance(10);
    assert.deepEqual(seen, [500, 1000, 1201]);
  });

  test("one that is woken may go back to sleep", async () => {
    const clock = new TestClock();
    const times: number[] = [];
    const start = clock.now();
    const sleeper = { name: "a" };
    const queue = new WakeQueue<Sleeper>(clock, (woken) => {
      times.push(clock.now() - start);
      if (times.length < 4) queue.set(woken, clock.now() + 100);
    });
    queue.set(sleeper, start + 100);
    await clock.advance(1000);
    assert.deepEqual(times, [100, 200, 300, 400]);
  });

  test("once stopped it wakes nobody and takes nobody in", async () => {
    const { queue, clock, woken, start } = new Dormitory();
    queue.set({ name: "a" }, start + 100);
    queue.stop();
    queue.set({ name: "b" }, start + 50);
    assert.equal(clock.timerCount, 0);
    await clock.advance(1000);
    assert.deepEqual(woken, []);
  });

  test("does what a plain list would do, whatever is asked of it", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), who: fc.nat(7), in: fc.integer({ min: -10, max: 60 }) }),
      fc.record({ kind: fc.constant("unset" as const), who: fc.nat(7) }),
      fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(30) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clock = new TestClock();
        const sleepers = Array.from({ length: 8 }, (_, place) => ({ name: `${place}` }));
        const woken: string[] = [];
        const expected: string[] = [];
        const alarms = new Map<number, number>();
        const queue = new WakeQueue<Sleeper>(clock, ({ name }) => void woken.push(`${name} ${clock.now()}`));
        for (const each of steps) {
          const now = clock.now();
          if (each.kind === "advance") {
            await clock.advance(each.ms);
            const due = [...alarms].filter(([, at]) => at <= now + each.ms);
            for (const [who, at] of due) {
              alarms.delete(who);
              expected.push(`${who} ${Math.max(at, now)}`);
            }
          } else if (each.kind === "set") {
            alarms.set(each.who, now + each.in);
            queue.set(sleepers[each.who] as Sleeper, now + each.in);
          } else {
            alarms.delete(each.who);
            queue.set(sleepers[each.who] as Sleeper, undefined);
          }
        }
        assert.deepEqual(woken.toSorted(), expected.toSorted());
        const times = woken.map((line) => Number(line.split(" ")[1]));
        assert.deepEqual(
          times,
          times.toSorted((one, other) => one - other),
          "never out of order",
        );
        assert.equal(clock.timerCount, alarms.size > 0 ? 1 : 0);
      }),
      { numRuns: 60 },
    );
  });
});
