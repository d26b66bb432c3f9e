import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { systemClock } from "./system-clock.ts";

const longMs = 2 ** 31 + 5000;

describe("the system clock", () => {
  test("tells the time", (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 1234 });
    assert.equal(systemClock.now(), 1234);
  });

  test("calls back once, not early", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const called = mock.fn();
    systemClock.after(99.5, called);
    t.mock.timers.tick(99);
    assert.equal(called.mock.callCount(), 0);
    t.mock.timers.tick(100);
    assert.equal(called.mock.callCount(), 1);
  });

  test("waits longer than a timer of the machine can", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const called = mock.fn();
    systemClock.after(longMs, called);
    t.mock.timers.tick(2 ** 31 - 1);
    assert.equal(called.mock.callCount(), 0);
    t.mock.timers.tick(5000);
    assert.equal(called.mock.callCount(), 0);
    t.mock.timers.tick(10);
    assert.equal(called.mock.callCount(), 1);
  });

  test("a cancelled timer is silent, also in its second stretch, and may be cancelled twice", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const called = mock.fn();
    const short = systemClock.after(10, called);
    const long = systemClock.after(longMs, called);
    short.cancel();
    short.cancel();
    t.mock.timers.tick(2 ** 31);
    long.cancel();
    t.mock.timers.tick(2 ** 31);
    assert.equal(called.mock.callCount(), 0);
  });

  test("soon is after the events at hand, and before time passes", async () => {
    const order: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    systemClock.soon(() => {
      order.push("soon");
      resolve();
    });
    queueMicrotask(() => order.push("microtask"));
    order.push("now");
    await promise;
    assert.deepEqual(order, ["now", "microtask", "soon"]);
  });
});
