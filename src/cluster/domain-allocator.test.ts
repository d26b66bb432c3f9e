import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock } from "../base/clock.ts";
import { hasCode } from "../base/error.ts";
import { DomainAllocator, type DomainAllocatorOptions } from "./domain-allocator.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";

const workerLostMs = 60_000;
const extraSlotMs = 10_000;

/** An allocator of epoch 5, and members a, b, c that talk to it. */
class Rig {
  timeMs = 0;
  living: ReadonlySet<string> | undefined;
  readonly allocator: DomainAllocator;
  readonly #last = new Map<string, SlotReport>();
  readonly #answers = new Map<string, number>();

  constructor(size: number, members = ["a", "b"], options: Partial<DomainAllocatorOptions> = {}) {
    this.living = new Set(members);
    const clock: Partial<Clock> = { monotonic: () => this.timeMs };
    this.allocator = new DomainAllocator({
      domain: "gpu",
      size,
      epoch: 5,
      clock: clock as Clock,
      living: () => this.living,
      workerLostMs,
      quietMs: 0,
      ...options,
    });
  }

  /** The member's next report; what is not said is as in its last one. */
  report(member: string, news: Partial<SlotReport> = {}): SlotGrant {
    const first = {
      domain: "gpu",
      member,
      sequence: 0,
      epoch: 5,
      quota: 0,
      running: 0,
      waiting: 0,
      hasRemoteWorkers: false,
    };
    const last = this.#last.get(member) ?? first;
    const report = { ...last, sequence: last.sequence + 1, ...news };
    this.#last.set(member, report);
    const grant = this.allocator.report(report);
    this.#answers.set(member, grant.quota);
    return grant;
  }

  quota(member: string, news: Partial<SlotReport> = {}): number {
    return this.report(member, news).quota;
  }

  /** Everybody takes every answer and starts what it can, for some intervals. Wishes are kept up. */
  run(wishes: Readonly<Record<string, number>>, intervals = 6): Record<string, number> {
    for (let i = 0; i < intervals; i++) {
      this.timeMs += 1000;
      for (const [member, wish] of Object.entries(wishes)) {
        const quota = this.#answers.get(member) ?? 0;
        const running = Math.min(quota, wish);
        this.report(member, { quota, running, waiting: wish - running });
      }
    }
    return Object.fromEntries(this.#answers);
  }

  get used(): number {
    return this.allocator.status().used;
  }
}

function refused(act: () => unknown, message: RegExp): void {
  assert.throws(act, (error: Error) => {
    assert.match(error.message, message);
    return hasCode(error, "SHARD_MOVED");
  });
}

describe("a sealed allocator", () => {
  test("raises nobody before it has heard from every living member", () => {
    const rig = new Rig(4, ["a", "b", "c"]);
    assert.equal(rig.quota("a", { waiting: 3 }), 0);
    assert.equal(rig.quota("b", { quota: 2, running: 2 }), 2);
    assert.deepEqual([rig.allocator.status().isSealed, rig.allocator.status().holds], [true, false]);
    assert.equal(rig.quota("a"), 0);
    assert.equal(rig.quota("c"), 0);
    assert.equal(rig.allocator.status().isSealed, false);
    assert.equal(rig.quota("a"), 2);
  });

  test("does not wait for those that joined after the first view, who begin with nothing", () => {
    const rig = new Rig(4, ["a"]);
    rig.living = new Set(["a", "b"]);
    assert.equal(rig.quota("a", { waiting: 2 }), 2);
    assert.equal(rig.quota("b", { waiting: 9 }), 2);
  });

  test("does not wait for the dead, but for the workers that they may have left", () => {
    const rig = new Rig(4);
    rig.quota("a", { waiting: 3 });
    rig.living = new Set(["a"]);
    assert.equal(rig.quota("a"), 0);
    rig.timeMs += workerLostMs - 1;
    assert.equal(rig.quota("a"), 0);
    rig.timeMs += 1;
    assert.equal(rig.quota("a"), 3);
  });

  test("counts only reports that name its epoch", () => {
    const rig = new Rig(4);
    assert.deepEqual(rig.report("a", { quota: 1, waiting: 3, epoch: 4 }), { epoch: 5, sequence: 1, quota: 1 });
    rig.quota("b");
    assert.equal(rig.allocator.status().isSealed, true);
    assert.equal(rig.quota("a", { quota: 2, epoch: 5 }), 3);
  });

  test("is quiet for as long as workers of those who died before may run on", () => {
    const rig = new Rig(4, ["a"], { quietMs: 5000 });
    assert.equal(rig.quota("a", { waiting: 1 }), 0);
    rig.timeMs += 5000;
    assert.equal(rig.quota("a"), 1);
    const careful = new Rig(4, ["a"], { quietMs: workerLostMs });
    careful.timeMs += workerLostMs - 1;
    assert.equal(careful.quota("a", { waiting: 1 }), 0);
  });
});

describe("a report is refused, to be brought elsewhere or again,", () => {
  test("when it knows of a later epoch", () => {
    refused(() => new Rig(4).report("a", { epoch: 6 }), /"gpu" .* later epoch/);
  });

  test("when the member is not known to live", () => {
    const rig = new Rig(4);
    refused(() => rig.report("x"), /"x" .* "gpu" .* not among the living/);
    rig.report("a", { quota: 3 });
    rig.living = new Set(["b"]);
    refused(() => rig.report("a"), /"a"/);
    assert.equal(rig.used, 0);
  });

  test("before there is a view from after the claim", () => {
    const rig = new Rig(4, [], { living: () => undefined });
    refused(() => rig.report("a"), /not among the living/);
    assert.equal(rig.allocator.status().isSealed, true);
  });
});

describe("what a member may have counts as used (I1)", () => {
  test("a quota that is taken back is free when the member says that it has less", () => {
    const rig = new Rig(4);
    rig.run({ a: 4, b: 0 });
    assert.equal(rig.quota("b", { waiting: 2 }), 0);
    assert.equal(rig.quota("a", { quota: 4, running: 1, waiting: 0 }), 2);
    assert.equal(rig.quota("b"), 0);
    // The answer was lost, and the member has started more meanwhile.
    assert.equal(rig.quota("a", { quota: 4, running: 4 }), 2);
    assert.equal(rig.quota("b"), 0);
    assert.equal(rig.quota("a", { quota: 2, running: 3 }), 2);
    assert.equal(rig.quota("b"), 1);
    assert.equal(rig.quota("a", { running: 2 }), 2);
    assert.equal(rig.quota("b", { quota: 1 }), 2);
  });

  test("a raise counts from when it is given, and comes back if the answer was lost and nothing is wanted any more", () => {
    const rig = new Rig(4);
    rig.report("b");
    assert.equal(rig.quota("a", { waiting: 3 }), 3);
    assert.equal(rig.used, 3);
    rig.report("a", { quota: 0, waiting: 0 });
    assert.equal(rig.used, 0);
  });

  test("a repetition has the same answer, however much is free by then, and an old report none", () => {
    const rig = new Rig(4);
    rig.run({ a: 4, b: 0 });
    const first = rig.report("b", { waiting: 2 });
    rig.report("a", { quota: 0, running: 0, waiting: 0 });
    assert.equal(rig.quota("b", { sequence: first.sequence }), 0);
    assert.equal(rig.quota("b"), 2);
    assert.deepEqual(rig.report("b", { sequence: 1, quota: 4 }), { epoch: 5, sequence: 1, quota: 0 });
    assert.equal(rig.used, 2);
  });
});

describe("a member that is dead", () => {
  test("has nothing", () => {
    const rig = new Rig(4);
    rig.run({ a: 4, b: 0 });
    rig.living = new Set(["b"]);
    assert.equal(rig.quota("b", { waiting: 4 }), 4);
  });

  test("has what it used for a while, if it ever had remote workers", () => {
    const rig = new Rig(4);
    rig.report("b");
    rig.report("a", { waiting: 3, hasRemoteWorkers: true });
    rig.report("a", { quota: 3, running: 3, waiting: 0, hasRemoteWorkers: false });
    rig.living = new Set(["b"]);
    rig.allocator.follow();
    rig.timeMs += workerLostMs - 1;
    assert.equal(rig.quota("b", { waiting: 4 }), 1);
    const { used, kept, quotas } = rig.allocator.status();
    assert.deepEqual([used, kept], [4, 3]);
    assert.deepEqual(quotas, [{ member: "b", quota: 1, running: 0, waiting: 4, used: 1 }]);
    rig.timeMs += 1;
    assert.equal(rig.quota("b"), 4);
  });
});

describe("a size that is lowered", () => {
  test("lets nothing start where it is known, until everything fits (I6)", () => {
    const rig = new Rig(10);
    rig.run({ a: 5, b: 5 });
    rig.allocator.resize(6);
    assert.equal(rig.allocator.status().holds, false);
    assert.equal(rig.quota("a", { quota: 5, running: 5, waiting: 9 }), 1);
    assert.equal(rig.quota("b", { quota: 5, running: 5, waiting: 9 }), 1);
    assert.equal(rig.quota("a", { quota: 1, running: 3 }), 1);
    assert.equal(rig.quota("b", { quota: 1, running: 4 }), 3);
    assert.equal(rig.allocator.status().holds, false);
    assert.equal(rig.quota("b", { quota: 3, running: 3 }), 3);
    assert.equal(rig.allocator.status().holds, true);
    assert.deepEqual(rig.run({ a: 9, b: 9 }), { a: 3, b: 3 });
  });

  test("holds also for the repetition of a report that was answered before", () => {
    const rig = new Rig(4);
    rig.report("b");
    const { sequence, quota } = rig.report("a", { waiting: 4 });
    rig.allocator.resize(1);
    assert.deepEqual([quota, rig.quota("a", { sequence })], [4, 1]);
    assert.equal(rig.used, 4);
  });

  test("is a whole number", () => {
    assert.throws(() => new Rig(1.5), /whole number/);
    assert.throws(() => new Rig(1).allocator.resize(-1), /whole number/);
  });
});

describe("shares", () => {
  test("are all that is wanted, if there is enough", () => {
    assert.deepEqual(new Rig(9).run({ a: 2, b: 7 }), { a: 2, b: 7 });
  });

  test("are the same for all who want more than there is, and less only for those who want less", () => {
    const rig = new Rig(10, ["a", "b", "c"]);
    assert.deepEqual(rig.run({ a: 90, b: 0, c: 0 }), { a: 10, b: 0, c: 0 });
    assert.deepEqual(rig.run({ a: 90, b: 90, c: 2 }), { a: 4, b: 4, c: 2 });
    assert.deepEqual(rig.run({ a: 3, b: 90, c: 90 }, 9), { a: 3, b: 4, c: 3 });
    assert.deepEqual(rig.run({ a: 0, b: 90, c: 0 }), { a: 0, b: 10, c: 0 });
  });

  test("are not taken down for nobody: a member keeps what others do not lack", () => {
    const rig = new Rig(10);
    rig.run({ a: 8, b: 0 });
    assert.equal(rig.quota("a", { quota: 8, running: 1, waiting: 0 }), 8);
    assert.equal(rig.quota("b", { waiting: 3 }), 2);
    assert.equal(rig.quota("a"), 7);
    assert.equal(rig.quota("a", { quota: 7 }), 7);
    assert.equal(rig.quota("b", { quota: 2, running: 2, waiting: 1 }), 3);
  });

  test("that cannot be divided go round", () => {
    const rig = new Rig(1, ["a", "b", "c"]);
    const wishes = { a: 9, b: 9, c: 9 };
    const holders = [];
    for (let turn = 0; turn < 6; turn++) {
      rig.run(wishes, extraSlotMs / 1000);
      const holder = rig.allocator.status().quotas.find(({ quota }) => quota === 1);
      holders.push(holder?.member);
    }
    assert.deepEqual(new Set(holders), new Set(["a", "b", "c"]));
    assert.deepEqual(holders.slice(3), holders.slice(0, 3));
  });

  test("that become scarce go round also among those who had them before", () => {
    const rig = new Rig(2);
    rig.run({ a: 9, b: 9 });
    rig.allocator.resize(1);
    const had = new Set<string>();
    for (let i = 0; i < 3 * (extraSlotMs / 1000); i++) {
      for (const [member, quota] of Object.entries(rig.run({ a: 9, b: 9 }, 1))) if (quota === 1) had.add(member);
    }
    assert.deepEqual(had, new Set(["a", "b"]));
  });

  test("wait for the one whose turn it is until it has had it, however long the other's attempt runs", () => {
    const rig = new Rig(1);
    rig.run({ a: 9, b: 9 }, 2);
    for (let i = 0; i < 50; i++) {
      rig.timeMs += 1000;
      const quota = i < 12 ? 1 : 0;
      const answer = rig.quota("a", { quota, running: 1, waiting: 8 });
      if (i > 12) assert.equal(answer, 0);
      assert.equal(rig.quota("b", { waiting: 9 }), 0);
    }
    assert.equal(rig.quota("a", { running: 0 }), 0);
    assert.equal(rig.quota("b"), 1);
  });

  test("are not kept for a wish that is not repeated", () => {
    const rig = new Rig(4);
    rig.report("b", { waiting: 9 });
    assert.equal(rig.quota("a", { waiting: 9 }), 2);
    rig.timeMs += 20_000;
    assert.equal(rig.quota("a", { quota: 2 }), 4);
  });
});
