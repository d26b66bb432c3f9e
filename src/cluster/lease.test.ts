import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock } from "../base/clock.ts";
import type { Moment } from "../base/moment.ts";
import { Lease } from "./lease.ts";

/** Two clocks that are moved by hand, each by itself. */
class TwoClocks implements Clock {
  wall = 1_000_000;
  steady = 50;

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.steady;
  }

  pass(ms: number): void {
    this.wall += ms;
    this.steady += ms;
  }

  after(): never {
    throw new Error("a lease sets no timers");
  }

  soon(): never {
    throw new Error("a lease sets no timers");
  }
}

function begin(): { clock: TwoClocks; lease: Lease } {
  const clock = new TwoClocks();
  return { clock, lease: new Lease(clock, { leaseMs: 1000 }) };
}

describe("a lease", () => {
  test("counts from the last renewal that was sent, by the loop or by the thread", () => {
    const clock = new TwoClocks();
    let byThread: Moment | undefined;
    const lease = new Lease(clock, { leaseMs: 1000, renewalByThread: () => byThread });
    byThread = lease.moment();
    assert.equal(lease.isValid, false);
    lease.renew(lease.moment());
    clock.pass(900);
    byThread = lease.moment();
    clock.pass(900);
    assert.equal(lease.remainingMs, 100);
    clock.pass(100);
    assert.equal(lease.isValid, false);
    lease.renew(lease.moment());
    assert.equal(lease.remainingMs, 1000);
  });

  test("that the loop has given up is not valid again by a renewal of the thread", () => {
    const clock = new TwoClocks();
    const lease: Lease = new Lease(clock, { leaseMs: 1000, renewalByThread: () => lease.moment() });
    lease.renew(lease.moment());
    clock.pass(1000);
    lease.lapse();
    assert.equal(lease.isValid, false);
  });

  test("is not valid before its first renewal", () => {
    const { lease } = begin();
    assert.equal(lease.isValid, false);
    assert.equal(lease.remainingMs, 0);
  });

  test("lasts from before the renewal was sent, however long the answer took", () => {
    const { clock, lease } = begin();
    const sent = lease.moment();
    clock.pass(700);
    lease.renew(sent);
    assert.equal(lease.isValid, true);
    assert.equal(lease.remainingMs, 300);
    clock.pass(299);
    assert.equal(lease.isValid, true);
    clock.pass(1);
    assert.equal(lease.isValid, false);
  });

  test("is not even begun by an answer that took longer than it lasts", () => {
    const { clock, lease } = begin();
    const sent = lease.moment();
    clock.pass(1000);
    lease.renew(sent);
    assert.equal(lease.isValid, false);
  });

  test("is valid again after the next renewal", () => {
    const { clock, lease } = begin();
    lease.renew(lease.moment());
    clock.pass(5000);
    assert.equal(lease.isValid, false);
    lease.renew(lease.moment());
    assert.equal(lease.isValid, true);
  });

  test("does not go back to an earlier renewal", () => {
    const { clock, lease } = begin();
    const early = lease.moment();
    clock.pass(600);
    lease.renew(lease.moment());
    lease.renew(early);
    assert.equal(lease.remainingMs, 1000);
  });

  test("lapses when only the wall clock went on: the machine was suspended", () => {
    const { clock, lease } = begin();
    lease.renew(lease.moment());
    clock.wall += 1000;
    assert.equal(lease.isValid, false);
    lease.renew(lease.moment());
    assert.equal(lease.isValid, true);
  });

  test("takes no notice of a wall clock that is set back", () => {
    const { clock, lease } = begin();
    lease.renew(lease.moment());
    clock.wall -= 3_600_000;
    clock.pass(999);
    assert.equal(lease.isValid, true);
    clock.pass(1);
    assert.equal(lease.isValid, false);
  });

  test("that was given up is not valid again when a wall clock that was ahead is set back, but after a renewal", () => {
    const { clock, lease } = begin();
    const sent = lease.moment();
    lease.renew(sent);
    clock.wall += 1000;
    lease.lapse();
    clock.wall -= 1000;
    assert.deepEqual([lease.isValid, lease.remainingMs], [false, 0]);
    clock.pass(1);
    lease.renew(lease.moment());
    assert.equal(lease.isValid, true);
  });

  test("that was given up is not valid again by the late answer to an earlier renewal", () => {
    const { clock, lease } = begin();
    const early = lease.moment();
    clock.pass(1);
    lease.renew(lease.moment());
    lease.lapse();
    lease.renew(early);
    assert.equal(lease.isValid, false);
  });

  test("once ended, is never valid again", () => {
    const { lease } = begin();
    lease.renew(lease.moment());
    lease.end();
    assert.equal(lease.isValid, false);
    lease.renew(lease.moment());
    assert.equal(lease.isValid, false);
    assert.equal(lease.remainingMs, 0);
  });
});
