import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SharedLease, sharedLeaseBytes } from "./shared-lease.ts";

/** The two sides of one lease. The clock of the process is 100 ms ahead of the loop's, and 70 ms of the thread's. */
function sides(): { loop: SharedLease; thread: SharedLease } {
  const memory = new SharedArrayBuffer(sharedLeaseBytes);
  return { loop: new SharedLease(memory, 100), thread: new SharedLease(memory, 70) };
}

const sent = { monotonic: 1000, wall: 5_000_000 };
const later = { monotonic: 4000, wall: 5_002_970 };

describe("a lease in shared memory", () => {
  test("is read by the thread as the loop holds it, on the thread's own clock", () => {
    const { loop, thread } = sides();
    assert.equal(thread.read(), undefined);
    loop.hold({ member: "blue ☃:1", sent, heartbeat: 7 });
    const read = { term: 1, member: "blue ☃:1", sent: { monotonic: 1030, wall: 5_000_000 }, heartbeat: 7 };
    assert.deepEqual(thread.read(), read);
  });

  test("counts from the thread's renewal, on the loop's own clock", () => {
    const { loop, thread } = sides();
    loop.hold({ member: "blue:1", sent, heartbeat: 7 });
    assert.equal(loop.renewalOf("blue:1"), undefined);
    thread.renew(1, later, 8);
    assert.deepEqual(loop.renewalOf("blue:1"), { monotonic: 3970, wall: 5_002_970 });
    assert.equal(loop.renewalOf("blue:2"), undefined);
    assert.deepEqual(thread.read(), { term: 1, member: "blue:1", sent: later, heartbeat: 8 });
  });

  test("that is released is renewed no more, and an answer that comes late counts for nothing", () => {
    const { loop, thread } = sides();
    loop.hold({ member: "blue:1", sent, heartbeat: 7 });
    loop.release();
    assert.equal(thread.read(), undefined);
    thread.renew(1, later, 8);
    assert.equal(loop.renewalOf("blue:1"), undefined);
    loop.hold({ member: "blue:1", sent, heartbeat: 7 });
    assert.equal(loop.renewalOf("blue:1"), undefined);
    assert.equal(thread.read()?.term, 2);
  });

  test("of the next id has a term of its own", () => {
    const { loop, thread } = sides();
    loop.hold({ member: "blue:1", sent, heartbeat: 7 });
    loop.hold({ member: "blue:1", sent: later, heartbeat: 8 });
    assert.equal(thread.read()?.term, 1);
    loop.hold({ member: "b:2", sent: later, heartbeat: 1 });
    thread.renew(1, later, 9);
    assert.equal(loop.renewalOf("b:2"), undefined);
    assert.deepEqual(thread.read(), { term: 2, member: "b:2", sent: { ...later, monotonic: 4030 }, heartbeat: 1 });
  });
});
