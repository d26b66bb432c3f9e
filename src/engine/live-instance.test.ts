/** Spec §12.2: an instance that another member owns, as it is seen from here. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { InstanceChange } from "./instance-change.ts";
import { LiveInstance } from "./live-instance.ts";
import type { RelayListener } from "./relay-follower.ts";
import { StoredHistory } from "./stored-history.rig.ts";

class Rig {
  readonly clock = new TestClock({ now: 5000 });
  readonly history = new StoredHistory(2);
  /** Those that follow over the relay. */
  readonly listeners = new Set<RelayListener>();
  readonly live = new LiveInstance(
    {
      namespace: "default",
      region: { subscribe: () => () => undefined, shardsOpened: 0 },
      follower: {
        subscribe: (listener) => {
          this.listeners.add(listener);
          return {
            add: () => Promise.resolve(),
            delete: () => undefined,
            stop: () => void this.listeners.delete(listener),
            noteOwn: () => undefined,
            unheard: [],
          };
        },
      },
      history: this.history.source,
      clock: this.clock,
      logger: new LogBook(),
      isUp: () => true,
      mayRead: () => true,
      keyOf: () => Promise.resolve(1),
      list: () => Promise.resolve([]),
    },
    "i",
  );

  get status(): string | undefined {
    return this.live.look()?.state.status;
  }

  /** Another member commits a turn, and the relay brings it. */
  commit({ isLost = false } = {}): void {
    const turn = this.history.append();
    if (!isLost) for (const { onChange } of this.listeners) onChange({ ...turn, createdAt: 1000 } as InstanceChange);
  }

  async settle(): Promise<void> {
    await this.clock.advance(0);
  }
}

describe("an instance that is looked at", () => {
  test("is read, and then follows the relay without further reads", async () => {
    const rig = new Rig();
    assert.equal(rig.status, undefined);
    await rig.settle();
    assert.equal(rig.status, "Paused");
    const { reads } = rig.history;
    rig.commit();
    assert.equal(rig.status, "Running");
    rig.commit();
    assert.equal(rig.status, "Paused");
    await rig.settle();
    assert.equal(rig.history.reads, reads);
  });

  test("is read again if turns are missing, or may be", async () => {
    const rig = new Rig();
    await rig.live.refresh();
    rig.commit({ isLost: true });
    rig.commit();
    await rig.settle();
    assert.equal(rig.status, "Paused");
    rig.commit({ isLost: true });
    assert.equal(rig.status, "Paused");
    for (const { onGap } of rig.listeners) onGap();
    await rig.settle();
    assert.equal(rig.status, "Running");
  });

  test("is read until the store answers", async () => {
    const rig = new Rig();
    rig.history.fault = new Error("the store is away");
    assert.equal(rig.status, undefined);
    await rig.clock.advance(2000);
    rig.history.fault = undefined;
    await rig.clock.advance(1000);
    assert.equal(rig.status, "Paused");
  });

  test("is not followed any more when nobody has looked for a while, and again at the next look", async () => {
    const rig = new Rig();
    await rig.live.refresh();
    await rig.clock.advance(20_000);
    assert.equal(rig.status, "Paused");
    await rig.clock.advance(20_000);
    assert.equal(rig.listeners.size, 1);
    await rig.clock.advance(10_000);
    assert.deepEqual([rig.listeners.size, rig.clock.timerCount], [0, 0]);
    rig.commit({ isLost: true });
    assert.equal(rig.status, "Paused");
    await rig.settle();
    assert.equal(rig.status, "Running");
  });

  test("leaves no timer behind when the engine stops", async () => {
    const rig = new Rig();
    await rig.live.refresh();
    for (const { onStopped } of rig.listeners) onStopped?.();
    assert.deepEqual([rig.listeners.size, rig.clock.timerCount], [0, 0]);
  });
});
