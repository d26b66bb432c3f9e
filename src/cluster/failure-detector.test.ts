import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MemberRow } from "../stores/store.ts";
import { FailureDetector, type Findings } from "./failure-detector.ts";

const timings = { beatMs: 2500, suspectMs: 10_000, lostMs: 30_000 };

const at = (ms: number): { monotonic: number; wall: number } => ({ monotonic: ms, wall: ms });

function row(id: string, heartbeat: number): MemberRow {
  return { id, address: `${id}:1`, heartbeat, about: "" };
}

/** Gives a detector of member "me" one view after the other. */
class Views {
  readonly detector = new FailureDetector(timings);

  /** The members and their heartbeats, asked for at that time; it arrives 100 ms later. */
  see(askedAt: number, beats: Readonly<Record<string, number>>, owners: readonly string[] = []): Findings {
    const members = [row("me", askedAt), ...Object.entries(beats).map(([id, heartbeat]) => row(id, heartbeat))];
    const shards = owners.map((owner, shard) => ({ shard, owner, epoch: 1, lastBatch: 0, released: false }));
    return this.detector.observe({ incarnation: 0, members, shards }, "me", {
      asked: at(askedAt),
      arrived: at(askedAt + 100),
    });
  }

  /** The same view every heartbeat, up to and with that time. */
  repeat(from: number, to: number, beats: Readonly<Record<string, number>>): void {
    for (let time = from; time <= to; time += timings.beatMs) this.see(time, beats);
  }
}

const types = ({ events }: Findings): string[] => events.map(({ type, member }) => `${type} ${member}`);

describe("failure detector", () => {
  test("reports members that join after the first view, and none of the first view", () => {
    const views = new Views();
    assert.deepEqual(views.see(0, { a: 1 }), { events: [], lost: [] });
    assert.deepEqual(types(views.see(2500, { a: 2, b: 1 })), ["joined b"]);
  });

  test("F1: counts silence from the arrival of one view to the request of another", () => {
    const views = new Views();
    views.see(0, { a: 1 });
    views.repeat(2500, 7500, { a: 1 });
    assert.deepEqual(types(views.see(10_000, { a: 1 })), [], "arrived at 100, so 9,900 ms");
    const { events } = views.see(10_100, { a: 1 });
    assert.deepEqual(events, [{ type: "suspected", member: "a", address: "a:1", silentMs: 10_000 }]);
    assert.deepEqual(types(views.see(12_000, { a: 1 })), [], "reported once");
  });

  test("reports a member as lost when it stays silent, with each view until it is removed", () => {
    const views = new Views();
    views.repeat(0, 40_000, { a: 7 });
    assert.deepEqual(views.see(40_100, { a: 7 }).lost, [row("a", 7)]);
    assert.deepEqual(views.see(42_500, { a: 7 }).lost, [row("a", 7)]);
    assert.deepEqual(types(views.see(45_000, {})), ["lost a"]);
  });

  test("a new heartbeat ends the suspicion and starts the count again", () => {
    const views = new Views();
    views.repeat(0, 30_000, { a: 1 });
    assert.deepEqual(types(views.see(32_500, { a: 2 })), ["returned a"]);
    assert.deepEqual(types(views.see(35_000, { a: 2 })), []);
  });

  test("F2: does not count time in which no view was seen", () => {
    const views = new Views();
    views.see(0, { a: 1 });
    const { events, lost } = views.see(3_600_000, { a: 1 });
    assert.deepEqual({ events, lost }, { events: [], lost: [] });
  });

  test("a member that vanished after a recent heartbeat has left", () => {
    const views = new Views();
    views.see(0, { a: 1 });
    views.see(2500, { a: 2 });
    assert.deepEqual(types(views.see(5000, {})), ["left a"]);
  });

  test("a member that vanished is lost if it still owns a shard, or if its process is known to have ended", () => {
    const views = new Views();
    views.see(0, { a: 1, b: 1 });
    views.see(2500, { a: 2, b: 2 });
    views.detector.markDead([row("b", 2), row("unknown", 1)]);
    assert.deepEqual(types(views.see(5000, {}, ["a"])), ["lost a", "lost b"]);
  });

  test("a member of the first view that vanishes is lost: its last heartbeat is unknown", () => {
    const views = new Views();
    views.see(0, { a: 1 });
    assert.deepEqual(types(views.see(2500, {})), ["lost a"]);
  });
});
