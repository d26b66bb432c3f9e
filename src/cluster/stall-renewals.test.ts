import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { TestClock } from "../testing/test-clock.ts";
import { momentOf } from "../base/moment.ts";
import { SharedLease, sharedLeaseBytes } from "./shared-lease.ts";
import { StallRenewals } from "./stall-renewals.ts";

const timings = { beatMs: 1000, suspectMs: 4000, lostMs: 6000, stallMs: 20_000 };
const leaseMs = 9000;
const tickMs = 250;

describe("a thread that renews the lease while the event loop is blocked", () => {
  let clock: TestClock;
  let lease: SharedLease;
  let renewals: StallRenewals;
  let stalledMs: number;
  /** Times of the renewals, counted from the beginning of the stall, with the heartbeat that each expects. */
  let sent: [at: number, atLeast: number][];
  let connected: string[];
  let failures: unknown[];
  let answer: () => Promise<boolean>;
  let beganAt: number;

  beforeEach(() => {
    clock = new TestClock();
    lease = new SharedLease(new SharedArrayBuffer(sharedLeaseBytes), 0);
    [stalledMs, sent, connected, failures] = [0, [], [], []];
    answer = async () => true;
    beganAt = clock.monotonic();
    lease.hold({ member: "blue:1", sent: momentOf(clock), heartbeat: 7 });
    renewals = new StallRenewals({
      clock,
      lease,
      timings,
      connect: async () => {
        connected.push("open");
        return {
          renewLease: async (member, atLeast) => {
            assert.equal(member, "blue:1");
            sent.push([clock.monotonic() - beganAt, atLeast]);
            return await answer();
          },
          close: async () => void connected.push("close"),
        };
      },
      onFailure: (error) => void failures.push(error),
    });
  });

  async function stall(ms: number): Promise<void> {
    for (const end = stalledMs + ms; stalledMs < end;) {
      await clock.advance(tickMs);
      stalledMs += tickMs;
      renewals.tick(stalledMs);
      await clock.advance(0);
    }
  }

  test("renews once in each interval, over a connection that it has only during the stall", async () => {
    await stall(3500);
    assert.deepEqual(sent, [
      [1000, 7],
      [2000, 8],
      [3000, 9],
    ]);
    assert.equal(lease.renewalOf("blue:1")?.monotonic, beganAt + 3000);
    assert.deepEqual(connected, ["open"]);
    renewals.tick(0);
    await clock.advance(0);
    assert.deepEqual(connected, ["open", "close"]);
  });

  test("does nothing while the loop runs, or holds no lease", async () => {
    renewals.tick(0);
    await stall(750);
    lease.release();
    await stall(3000);
    assert.deepEqual([sent, connected], [[], []]);
  });

  test("gives up when the loop has been blocked for too long", async () => {
    await stall(60_000);
    assert.deepEqual(sent.at(-1), [timings.stallMs, 26]);
    assert.equal(sent.length, 20);
  });

  test("renews no lease that has expired", async () => {
    await clock.advance(leaseMs);
    await stall(3000);
    assert.deepEqual(sent, []);
  });

  test("tries again after an error, of which it tells once", async () => {
    answer = async () => Promise.reject(new Error("not now"));
    await stall(2000);
    assert.deepEqual(
      sent.map(([at]) => at),
      [1000, 1250, 1500, 1750, 2000],
    );
    assert.equal(failures.length, 1);
    answer = async () => true;
    await stall(1000);
    assert.equal(lease.renewalOf("blue:1")?.monotonic, beganAt + 2250);
  });

  test("asks no more for a lease that the store does not know, or knows an earlier state of", async () => {
    answer = async () => false;
    await stall(5000);
    assert.equal(sent.length, 1);
    assert.equal(lease.renewalOf("blue:1"), undefined);
  });
});
