import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock } from "../base/clock.ts";
import { type ReactionSlot, ReactionSlots } from "./reaction-slots.ts";

const waitersMax = 100_000;

/** A clock that stands still, so that the cost of its timers is not measured. */
const clock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  soon: () => undefined,
  after: () => ({ cancel: () => undefined }),
};

/** Slots that are blocked until the test unblocks them, and count how often that was asked. */
class Rig {
  isBlocked = true;
  checks = 0;
  freed = 0;
  readonly slots = new ReactionSlots({
    clock,
    isBlocked: () => {
      this.checks++;
      return this.isBlocked;
    },
    onFreed: () => this.freed++,
  });

  /** The waiters, by number, in the order in which they started. */
  fill(lossesOf: (waiter: number) => number, onStart: (slot: ReactionSlot) => void): number[] {
    const started: number[] = [];
    for (let waiter = 0; waiter < waitersMax; waiter++) {
      this.slots.enter(lossesOf(waiter), (slot) => {
        started.push(waiter);
        onStart(slot);
      });
    }
    return started;
  }

  unblock(): void {
    this.isBlocked = false;
    this.checks = 0;
    this.slots.recheck();
  }
}

describe("a hundred thousand waiting reactions", () => {
  test("start in one recheck, in order of losses and arrival, with one check each", () => {
    const rig = new Rig();
    const started = rig.fill(
      (waiter) => waiter % 2,
      () => undefined,
    );
    assert.equal(started.length, 0);
    const before = performance.now();
    rig.unblock();
    // An array that is searched and cut from its front takes far longer.
    assert.ok(performance.now() - before < 20_000);
    assert.equal(started.length, waitersMax);
    assert.equal(rig.checks, waitersMax);
    assert.deepEqual(started.slice(0, 3), [0, 2, 4]);
    assert.deepEqual(started.slice(waitersMax / 2, waitersMax / 2 + 3), [1, 3, 5]);
  });

  test("may each leave as soon as they start, whether suspects or not", () => {
    for (const losses of [0, 2]) {
      const rig = new Rig();
      const started = rig.fill(
        () => losses,
        (slot) => slot.leave(),
      );
      rig.unblock();
      assert.equal(started.length, waitersMax);
      assert.ok(rig.slots.isEmpty);
      assert.ok(rig.freed > 0);
      assert.ok(rig.checks <= 2 * waitersMax);
    }
  });
});
