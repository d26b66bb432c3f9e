import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock } from "../../src/base/clock.ts";
import { ChangeRing } from "../../src/server/push/change-ring.ts";
import { cursorText, parseCursor } from "../../src/server/push/cursor.ts";
import { FanOut } from "../../src/server/push/fan-out.ts";
import type { FeedEntry } from "../../src/server/push/feed-entry.ts";

/** Time goes on only while something is done. */
class HandClock implements Clock {
  ms = 0;
  waits: { at: number; callback: () => void }[] = [];
  readonly now = (): number => this.ms;
  readonly monotonic = (): number => this.ms;

  soon(callback: () => void): void {
    this.after(0, callback);
  }

  after(delayMs: number, callback: () => void) {
    const wait = { at: this.ms + delayMs, callback };
    this.waits.push(wait);
    return { cancel: () => void (this.waits = this.waits.filter((each) => each !== wait)) };
  }

  /** Goes on to the next that is planned. */
  step(): void {
    const [next] = this.waits.splice(0, 1);
    assert.ok(next, "something is planned");
    this.ms = Math.max(this.ms, next.at);
    next.callback();
  }
}

/** When rounds begin: the first lasts no time, the others so long. */
function roundsOf({ load, lastsMs }: { load: number; lastsMs: number }): number[] {
  const clock = new HandClock();
  const begun: number[] = [];
  const round = (): boolean => {
    if (begun.push(clock.ms) > 1) clock.ms += lastsMs;
    return false;
  };
  const fanOut = new FanOut(clock, round, () => load);
  fanOut.requestRound();
  fanOut.requestRound();
  assert.equal(clock.waits.length, 1);
  clock.step();
  for (let each = 0; each < 4; each++) {
    fanOut.requestRound();
    clock.step();
  }
  return begun;
}

describe("rounds of sending", () => {
  test("come at once when they are short, and take a tenth of the time when they are long", () => {
    assert.deepEqual(roundsOf({ load: 1, lastsMs: 20 }), [0, 0, 200, 400, 600]);
  });

  test("take half of the time when there is little else to do", () => {
    assert.deepEqual(roundsOf({ load: 0.1, lastsMs: 20 }), [0, 0, 40, 80, 120]);
  });

  test("are told when their time is over", () => {
    const clock = new HandClock();
    const seen: boolean[] = [];
    const fanOut = new FanOut(clock, (isOver) => {
      for (let each = 0; each < 3; each++, clock.ms += 6) seen.push(isOver());
      return false;
    });
    fanOut.requestRound();
    clock.step();
    assert.deepEqual(seen, [false, false, true]);
  });

  test("are followed by another while something is left, until they are stopped", () => {
    const clock = new HandClock();
    let rounds = 0;
    const fanOut = new FanOut(clock, () => ++rounds < 3);
    fanOut.requestRound();
    clock.step();
    clock.step();
    clock.step();
    assert.equal(clock.waits.length, 0);
    fanOut.requestRound();
    fanOut.stop();
    clock.step();
    assert.equal(rounds, 3);
  });
});

describe("the ring", () => {
  const entry = (seq: number, size: number): FeedEntry => ({
    instanceId: "i",
    workflowName: "w",
    createdAt: 1,
    turn: seq,
    cursor: { feed: "f", seq, at: seq },
    text: "",
    size,
  });
  const numbers = (found: FeedEntry[] | undefined): number[] | undefined => found?.map(({ turn }) => turn);

  test("keeps so many changes, and so many bytes of them", () => {
    const ring = new ChangeRing({ entriesMax: 4, bytesMax: 100 });
    assert.deepEqual(numbers(ring.after(0, () => true)), []);
    for (let seq = 1; seq <= 6; seq++) ring.add(entry(seq, 10));
    assert.equal(
      ring.after(1, () => true),
      undefined,
    );
    assert.deepEqual(numbers(ring.after(2, () => true)), [3, 4, 5, 6]);
    assert.deepEqual(numbers(ring.after(3, ({ turn }) => turn % 2 === 0)), [4, 6]);
    assert.equal(
      ring.after(7, () => true),
      undefined,
    );
    ring.add(entry(7, 75));
    assert.equal(
      ring.after(3, () => true),
      undefined,
    );
    assert.deepEqual(numbers(ring.after(4, () => true)), [5, 6, 7]);
    // One alone is kept, however large.
    ring.add(entry(8, 1000));
    assert.deepEqual(numbers(ring.after(7, () => true)), [8]);
  });
});

test("a cursor is read back as it was written, and nothing else is one", () => {
  for (const cursor of [
    { feed: "0a1b2c3d4e5f", seq: 0, at: 1_760_000_000_000 },
    { feed: "f", seq: 12, at: 5, turn: 0, createdAt: 4 },
  ]) {
    assert.deepEqual(parseCursor(cursorText(cursor)), cursor);
  }
  for (const text of [
    "",
    "f",
    "f:1",
    "f:1:x",
    "f:1:2:3",
    "f:1:2:3:4:5",
    "f:-1:2",
    "a b:1:2",
    `${"9".repeat(65)}:1:2`,
  ]) {
    assert.equal(parseCursor(text), undefined, text);
  }
});
