import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TestClock } from "./test-clock.ts";

describe("the test clock", () => {
  test("stands still until it is moved", async () => {
    const clock = new TestClock({ now: 1000 });
    assert.equal(clock.now(), 1000);
    await clock.settle();
    assert.equal(clock.now(), 1000);
    await clock.advance(500);
    assert.equal(clock.now(), 1500);
  });

  test("fires timers in order, each at its own time", async () => {
    const clock = new TestClock({ now: 0 });
    const fired: string[] = [];
    const note = (name: string) => (): void => void fired.push(`${name} ${clock.now()}`);
    clock.after(300, note("c"));
    clock.after(100, note("a"));
    clock.after(100, note("b"));
    clock.after(-5, note("first"));
    await clock.advance(200);
    assert.deepEqual(fired, ["first 0", "a 100", "b 100"]);
    assert.equal(clock.timerCount, 1);
    assert.equal(clock.nextTimerAt, 300);
    await clock.advance(100);
    assert.equal(fired.at(-1), "c 300");
  });

  test("settles with the timers that are due, and what they lead to, and no time passes", async () => {
    const clock = new TestClock({ now: 0 });
    const fired: string[] = [];
    clock.after(0, () => {
      fired.push("due");
      clock.after(0, () => fired.push("due then"));
    });
    clock.after(1, () => fired.push("later"));
    await clock.settle();
    assert.deepEqual([fired, clock.now(), clock.timerCount], [["due", "due then"], 0, 1]);
  });

  test("what a timer leads to has happened before the next one fires", async () => {
    const clock = new TestClock({ now: 0 });
    const seen: string[] = [];
    clock.after(10, () => {
      clock.soon(() => {
        void Promise.resolve().then(() => {
          seen.push(`led to ${clock.now()}`);
          clock.after(5, () => seen.push(`and to ${clock.now()}`));
        });
      });
    });
    clock.after(20, () => seen.push(`next ${clock.now()}`));
    await clock.advance(30);
    assert.deepEqual(seen, ["led to 10", "and to 15", "next 20"]);
  });

  test("jumps as after a long sleep: what came due meanwhile fires late, in order, and then it stands still", async () => {
    const clock = new TestClock({ now: 0 });
    const fired: string[] = [];
    clock.after(200, () => fired.push(`b ${clock.now()}`));
    clock.after(100, () => {
      fired.push(`a ${clock.now()}`);
      clock.after(100, () => fired.push(`later ${clock.now()}`));
    });
    await clock.jump(1000);
    assert.deepEqual(fired, ["a 1000", "b 1000"]);
    assert.equal(clock.nextTimerAt, 1100);
    await clock.jump(500);
    assert.equal(clock.now(), 1000);
  });

  test("shows whole milliseconds, also when a timer fires between two of them", async () => {
    const clock = new TestClock({ now: 1000 });
    const seen: number[] = [];
    clock.after(2.5, () => seen.push(clock.now()));
    await clock.until(new Promise<void>((resolve) => void clock.after(2.7, resolve)));
    assert.deepEqual([seen, clock.now(), clock.monotonic()], [[1002], 1002, 1002.7]);
  });

  test("a cancelled timer does not fire", async () => {
    const clock = new TestClock();
    const timer = clock.after(10, () => assert.fail("it was cancelled"));
    timer.cancel();
    timer.cancel();
    await clock.advance(100);
    assert.equal(clock.nextTimerAt, undefined);
  });

  test("settles a long chain of things that need no time", async () => {
    const clock = new TestClock();
    let steps = 0;
    const step = (): void => {
      if (++steps < 200) clock.soon(() => void Promise.resolve().then(() => setImmediate(step)));
    };
    step();
    await clock.settle();
    assert.equal(steps, 200);
  });

  test("until lets as much time pass as is needed, and gives what the promise gives", async () => {
    const clock = new TestClock({ now: 0 });
    const wait = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
    const value = await clock.until(
      wait(1000)
        .then(() => wait(5000))
        .then(() => "done"),
    );
    assert.equal(value, "done");
    assert.equal(clock.now(), 6000);
    await assert.rejects(clock.until(Promise.reject(new Error("no"))), /no/);
  });

  test("until says when it waits in vain", async () => {
    const clock = new TestClock({ now: 0 });
    await assert.rejects(clock.until(new Promise(() => undefined)), /no timer is running/);
    const tick = (): void => void clock.after(1000, tick);
    tick();
    await assert.rejects(
      clock.until(new Promise(() => undefined), { maxMs: 5000 }),
      /still waiting at 1970-01-01T00:00:05/,
    );
  });
});
