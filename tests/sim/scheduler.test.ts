import assert from "node:assert/strict";
import { test } from "node:test";
import { LifeClock, MachineTime } from "./clock.ts";
import { Scheduler } from "./scheduler.ts";

test("events happen in the order of their times, those of one moment as they were asked for", async () => {
  const { scheduler, seen, note } = stage();
  scheduler.after(2, undefined, note("c"));
  scheduler.after(1, undefined, note("a"));
  scheduler.after(1, undefined, note("b"));
  scheduler.after(0, undefined, note("canceled")).cancel();
  await scheduler.run(() => false);
  assert.deepEqual(seen, ["1 a", "1 b", "2 c"]);
});

test("all promises are settled between two events", async () => {
  const { scheduler, seen, note } = stage();
  scheduler.after(0, undefined, () => {
    void (async () => {
      for (let i = 0; i < 100; i++) await Promise.resolve();
      note("promised")();
    })();
  });
  scheduler.after(0, undefined, note("next"));
  await scheduler.run(() => false);
  assert.deepEqual(seen, ["0 promised", "0 next"]);
});

test("nothing happens to the dead, and to the frozen only when they thaw, in order", async () => {
  const { scheduler, seen, note } = stage();
  const dead = { isDead: true, isFrozen: false };
  const frozen = { isDead: false, isFrozen: true };
  scheduler.after(1, dead, note("dead"));
  scheduler.after(1, frozen, note("first"));
  const canceled = scheduler.after(2, frozen, note("canceled"));
  scheduler.after(3, frozen, note("second"));
  scheduler.after(9, undefined, () => {
    frozen.isFrozen = false;
    scheduler.release(frozen);
    canceled.cancel();
  });
  await scheduler.run(() => false);
  assert.deepEqual(seen, ["9 first", "9 second"]);
});

test("whoever keeps himself busy for nothing is found out", async () => {
  const { scheduler } = stage();
  const again = (): void => void scheduler.after(0, undefined, again);
  again();
  await scheduler.run(() => false);
  assert.match(String(scheduler.errors[0]), /still going on/);
});

test("a clock that is too fast fires its timers early, by the true time", async () => {
  const { scheduler, time, clock, seen, note } = stage();
  time.rate = 1.05;
  clock.after(1050, note("timer"));
  clock.after(1, note("canceled")).cancel();
  await scheduler.run(() => false);
  assert.match(seen.join(), /^1000\.\d+ timer$/);
  assert.ok(clock.monotonic() >= 1050);
});

test("a wall clock that is set has nothing to do with timers", async () => {
  const { scheduler, time, clock, seen, note } = stage();
  const before = clock.now();
  clock.after(10, note("timer"));
  time.wallOffsetMs = 3_600_000;
  assert.equal(clock.now(), before + 3_600_000);
  await scheduler.run(() => false);
  assert.match(seen.join(), /^10\.\d+ timer$/);
});

test("a suspended machine waits for the rest of the time afterwards", async () => {
  const { scheduler, time, clock, seen, note } = stage();
  clock.after(100, note("timer"));
  scheduler.after(50, undefined, () => void (time.suspendedMs += 30));
  await scheduler.run(() => false);
  assert.match(seen.join(), /^130\.\d+ timer$/);
});

function stage(): {
  scheduler: Scheduler;
  time: MachineTime;
  clock: LifeClock;
  seen: string[];
  note: (what: string) => () => void;
} {
  const scheduler = new Scheduler(() => undefined);
  const time = new MachineTime();
  const clock = new LifeClock(scheduler, time, { isDead: false, isFrozen: false });
  const seen: string[] = [];
  return { scheduler, time, clock, seen, note: (what) => () => void seen.push(`${scheduler.now} ${what}`) };
}
