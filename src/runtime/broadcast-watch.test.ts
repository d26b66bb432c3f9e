/** Spec §10.4: workers of a broadcast that are gone. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type Broadcaster, BroadcastWatch } from "./broadcast-watch.ts";

const lookMs = 1000;

/** An instance whose broadcast is task 0; the test says which workers its items wait for, and which are found. */
class Rig implements Broadcaster {
  readonly id = "i";
  readonly clock = new TestClock();
  hasRunningBroadcast = true;
  /** Workers by item. */
  awaited = new Map<number, string>();
  present: string[] = [];
  /** Answers come after this. */
  hold: Promise<void> | undefined;
  readonly gone: number[] = [];
  looks = 0;
  readonly watch = new BroadcastWatch({
    clock: this.clock,
    logger: new LogBook(),
    dispatcher: { status: { waitOf: () => undefined } },
    workers: {
      lookMs,
      find: async () => {
        this.looks++;
        const found = [...this.present];
        await this.hold;
        return found;
      },
    },
  });

  awaitedWorkers() {
    return this.awaited.size === 0 ? [] : [{ task: 0, workers: this.awaited }];
  }

  selectorOf() {
    return { job: "each" };
  }

  onWorkersGone(_task: number, items: readonly number[]): void {
    this.gone.push(...items);
  }
}

describe("a watch over the workers of broadcasts", () => {
  test("counts a worker as gone that two looks in a row have not found", async () => {
    const rig = new Rig();
    rig.awaited = new Map([
      [7, "x"],
      [8, "y"],
    ]);
    rig.watch.watch(rig);
    rig.present = ["y"];
    await rig.clock.advance(lookMs);
    assert.deepEqual(rig.gone, []);
    rig.present = ["x"];
    await rig.clock.advance(lookMs);
    rig.present = ["y"];
    await rig.clock.advance(lookMs);
    assert.deepEqual(rig.gone, []);
    await rig.clock.advance(lookMs);
    assert.deepEqual(rig.gone, [7]);
    rig.watch.stop();
  });

  test("goes on while items run, and finds the worker that gives one back", async () => {
    const rig = new Rig();
    rig.watch.watch(rig);
    await rig.clock.advance(5 * lookMs);
    assert.equal(rig.looks, 0, "nobody is asked while nothing waits");
    rig.awaited = new Map([[7, "x"]]);
    await rig.clock.advance(lookMs);
    rig.awaited = new Map();
    await rig.clock.advance(lookMs);
    rig.awaited = new Map([[7, "x"]]);
    await rig.clock.advance(lookMs);
    assert.deepEqual(rig.gone, [], "looks with a pause between them are not two in a row");
    await rig.clock.advance(lookMs);
    assert.deepEqual(rig.gone, [7]);
    rig.hasRunningBroadcast = false;
    await rig.clock.advance(2 * lookMs);
    assert.equal(rig.clock.timerCount, 0);
  });

  test("does not count a worker as gone whose item has started while the members were asked", async () => {
    const rig = new Rig();
    rig.awaited = new Map([[7, "x"]]);
    rig.watch.watch(rig);
    await rig.clock.advance(lookMs);
    const held = Promise.withResolvers<void>();
    rig.hold = held.promise;
    await rig.clock.advance(lookMs);
    rig.awaited = new Map();
    held.resolve();
    await rig.clock.advance(0);
    assert.deepEqual([rig.looks, rig.gone], [2, []]);
    rig.watch.stop();
  });
});
