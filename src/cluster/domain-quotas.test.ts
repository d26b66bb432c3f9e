import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ErrorCode, hasCode } from "../base/error.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import { TestClock } from "../testing/test-clock.ts";
import { DomainQuotas } from "./domain-quotas.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";

const rebalanceMs = 1000;
const workerLostMs = 60_000;
const idleMs = 10_000;

interface Call {
  readonly report: SlotReport;
  readonly resolve: (grant: SlotGrant) => void;
  readonly reject: (error: Error) => void;
}

/** A member's end, with calls that are answered by hand. */
class Rig {
  readonly clock = new TestClock();
  member = "m1";
  epoch = 5;
  running = 0;
  waiting = 0;
  hasRemoteWorkers = false;
  /** As the pool sees it. */
  quota = -1;
  readonly calls: Call[] = [];
  readonly log: string[] = [];
  readonly quotas: DomainQuotas;

  constructor(domains = ["gpu"]) {
    this.quotas = new DomainQuotas({
      member: () => this.member,
      clock: this.clock,
      domains,
      call: (domain, report) => {
        assert.equal(domain, report.domain);
        return new Promise((resolve, reject) => this.calls.push({ report, resolve, reject }));
      },
      seenEpoch: () => this.epoch,
      pool: {
        demand: () => ({ running: this.running, waiting: this.waiting }),
        setQuota: (_, quota) => void (this.quota = quota),
      },
      timings: { rebalanceMs, workerLostMs },
      hasRemoteWorkers: () => this.hasRemoteWorkers,
      logger: this.#logger(),
    });
  }

  /** Started, and the first report answered. */
  static async started(): Promise<Rig> {
    const rig = new Rig();
    rig.quotas.start();
    await rig.answer(0);
    return rig;
  }

  /** Has that quota, all of it running. */
  static async holding(quota: number): Promise<Rig> {
    const rig = await Rig.started();
    rig.waiting = quota;
    rig.quotas.onDemand("gpu");
    await rig.clock.settle();
    await rig.answer(quota);
    rig.waiting = 0;
    rig.running = quota;
    return rig;
  }

  get call(): Call {
    const call = this.calls.at(-1);
    assert.ok(call !== undefined);
    return call;
  }

  get report(): SlotReport {
    return this.call.report;
  }

  async answer(quota: number, epoch = this.report.epoch): Promise<void> {
    this.call.resolve({ epoch, sequence: this.report.sequence, quota });
    await this.clock.settle();
  }

  async fail(): Promise<void> {
    this.call.reject(new Error("nobody there"));
    await this.clock.settle();
  }

  interval(): Promise<void> {
    return this.clock.advance(rebalanceMs);
  }

  #logger(): Logger {
    const write = (level: string) => (fields: LogFields, message: string) =>
      void this.log.push(`${level}: ${message} ${JSON.stringify(fields)}`);
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }
}

async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => hasCode(error, code));
}

describe("reports", () => {
  test("begin with the start, and tell what is so in that moment", async () => {
    const rig = new Rig();
    assert.equal(rig.quota, 0);
    rig.quotas.onDemand("gpu");
    await rig.clock.settle();
    assert.equal(rig.calls.length, 0);
    rig.waiting = 2;
    rig.hasRemoteWorkers = true;
    rig.quotas.start();
    assert.deepEqual(rig.report, {
      domain: "gpu",
      member: "m1",
      sequence: 1,
      epoch: 5,
      quota: 0,
      running: 0,
      waiting: 2,
      hasRemoteWorkers: true,
    });
    await rig.answer(1);
    assert.equal(rig.quota, 1);
    [rig.running, rig.waiting] = [1, 1];
    await rig.interval();
    const { sequence, quota, running, waiting } = rig.report;
    assert.deepEqual([sequence, quota, running, waiting], [2, 1, 1, 1]);
    rig.quotas.stop();
  });

  test("are made one at a time, every interval while there is anything to say", async () => {
    const rig = await Rig.holding(2);
    const { length } = rig.calls;
    await rig.interval();
    await rig.interval();
    assert.equal(rig.calls.length, length + 1);
    await rig.answer(2);
    assert.equal(rig.calls.length, length + 1);
    await rig.interval();
    assert.equal(rig.calls.length, length + 2);
    rig.quotas.stop();
  });

  test("are made at once when something waits, one for all that waits", async () => {
    const rig = await Rig.started();
    for (let i = 0; i < 5; i++) {
      rig.waiting++;
      rig.quotas.onDemand("gpu");
    }
    await rig.clock.settle();
    assert.deepEqual([rig.calls.length, rig.report.waiting], [2, 5]);
    // More comes while it is under way: the next one follows the answer.
    rig.waiting = 7;
    rig.quotas.onDemand("gpu");
    await rig.clock.settle();
    assert.equal(rig.calls.length, 2);
    await rig.answer(5);
    assert.deepEqual([rig.calls.length, rig.report.waiting], [3, 7]);
    rig.quotas.stop();
  });

  test("wait for the interval when the allocator knows already what is lacking, or does not answer", async () => {
    const rig = await Rig.started();
    const ask = async (): Promise<number> => {
      rig.quotas.onDemand("gpu");
      await rig.clock.settle();
      return rig.calls.length;
    };
    rig.waiting = 5;
    assert.equal(await ask(), 2);
    rig.quotas.onDemand("gpu");
    await rig.answer(3);
    assert.equal(await ask(), 2);
    await rig.interval();
    assert.equal(rig.calls.length, 3);
    await rig.fail();
    assert.equal(await ask(), 3);
    await rig.interval();
    await rig.answer(9);
    assert.equal(await ask(), 5);
    rig.quotas.stop();
  });

  test("follow at once when slots were taken back, for others wait for them", async () => {
    const rig = await Rig.holding(4);
    await rig.interval();
    await rig.answer(3);
    assert.deepEqual([rig.quota, rig.report.quota, rig.report.running], [3, 3, 4]);
    const { length } = rig.calls;
    await rig.answer(3);
    assert.equal(rig.calls.length, length);
    rig.quotas.stop();
  });

  test("of a domain that nobody declared are not made", async () => {
    const rig = await Rig.started();
    rig.quotas.onDemand("other");
    rig.quotas.onDetached("other", 1);
    await rig.quotas.whenCounted("other");
    assert.equal(rig.calls.length, 1);
    rig.quotas.declare("other");
    rig.quotas.declare("other");
    await rig.clock.settle();
    assert.deepEqual([rig.calls.length, rig.report.domain], [2, "other"]);
    rig.quotas.stop();
  });
});

describe("an answer is not taken", () => {
  test("when the call was given up; the next report has a higher sequence", async () => {
    const rig = await Rig.holding(1);
    await rig.interval();
    const late = rig.call;
    await rig.fail();
    await rig.interval();
    assert.equal(rig.report.sequence, late.report.sequence + 1);
    late.resolve({ epoch: 5, sequence: late.report.sequence, quota: 9 });
    await rig.answer(2);
    assert.equal(rig.quota, 2);
    await rig.interval();
    await rig.fail();
    assert.equal(rig.log.length, 3);
    assert.match(rig.log[0]!, /^warn: .* not answered .*"gpu".*nobody there/);
    assert.match(rig.log[1]!, /^info: .* answers again .*"gpu"/);
    await rig.interval();
    await rig.fail();
    assert.equal(rig.log.length, 3);
    rig.quotas.stop();
  });

  test("when it is the answer to another report", async () => {
    const rig = await Rig.holding(1);
    await rig.interval();
    rig.call.resolve({ epoch: 5, sequence: rig.report.sequence - 1, quota: 9 });
    await rig.clock.settle();
    assert.equal(rig.quota, 1);
    const { length } = rig.calls;
    await rig.interval();
    assert.equal(rig.calls.length, length + 1);
    rig.quotas.stop();
  });

  test("when a newer epoch is known, which the next report names at once", async () => {
    const rig = await Rig.holding(1);
    await rig.interval();
    rig.epoch = 6;
    await rig.answer(9, 5);
    assert.deepEqual([rig.quota, rig.report.epoch, rig.report.quota], [1, 6, 1]);
    rig.quotas.stop();
  });

  test("after the engine has stopped", async () => {
    const rig = await Rig.holding(1);
    await rig.interval();
    rig.quotas.stop();
    assert.equal(rig.quota, 0);
    await rig.answer(3);
    assert.equal(rig.quota, 0);
    await rig.clock.advance(60_000);
    assert.equal(rig.clock.timerCount, 0);
    await rejects(rig.quotas.whenCounted("gpu"), "ENGINE_STATE");
  });
});

test("a newer allocator is heard, and told everything again under its epoch", async () => {
  const rig = await Rig.holding(1);
  await rig.interval();
  await rig.answer(1, 7);
  assert.deepEqual([rig.report.epoch, rig.report.quota, rig.quota], [7, 1, 1]);
  // From now on the one before has nothing to say.
  await rig.answer(5, 6);
  assert.deepEqual([rig.report.epoch, rig.quota], [7, 1]);
  await rig.answer(2, 7);
  assert.equal(rig.quota, 2);
  rig.quotas.stop();
});

describe("a member that needs nothing", () => {
  test("gives its quota back after a while, and is silent when that was heard", async () => {
    const rig = await Rig.holding(2);
    rig.running = 0;
    for (let i = 0; i < idleMs / rebalanceMs - 1; i++) {
      await rig.interval();
      await rig.answer(2);
    }
    assert.equal(rig.quota, 2);
    await rig.interval();
    assert.deepEqual([rig.quota, rig.report.quota], [0, 0]);
    await rig.fail();
    await rig.interval();
    assert.equal(rig.report.quota, 0);
    await rig.answer(0);
    const { length } = rig.calls;
    await rig.clock.advance(60_000);
    assert.equal(rig.calls.length, length);
    rig.quotas.stop();
  });

  test("is heard by each new allocator", async () => {
    const rig = await Rig.started();
    await rig.clock.advance(60_000);
    assert.equal(rig.calls.length, 1);
    rig.epoch = 6;
    await rig.interval();
    assert.deepEqual([rig.calls.length, rig.report.epoch], [2, 6]);
    await rig.fail();
    await rig.interval();
    assert.equal(rig.calls.length, 3);
    await rig.answer(0);
    await rig.clock.advance(60_000);
    assert.equal(rig.calls.length, 3);
    rig.quotas.stop();
  });

  test("says so even if it never heard that its wish was met", async () => {
    const rig = await Rig.started();
    rig.waiting = 1;
    rig.quotas.onDemand("gpu");
    await rig.clock.settle();
    rig.waiting = 0;
    await rig.fail();
    await rig.interval();
    assert.deepEqual([rig.calls.length, rig.report.waiting], [3, 0]);
    rig.quotas.stop();
  });
});

describe("a member that is gone", () => {
  test("has nothing, takes nothing and says nothing until it has a new id", async () => {
    const rig = await Rig.holding(2);
    await rig.interval();
    const late = rig.call;
    rig.quotas.dropAll();
    assert.equal(rig.quota, 0);
    late.resolve({ epoch: 5, sequence: late.report.sequence, quota: 2 });
    rig.running = 0;
    rig.waiting = 1;
    rig.quotas.onDemand("gpu");
    const { length } = rig.calls;
    await rig.clock.advance(5000);
    assert.deepEqual([rig.quota, rig.calls.length], [0, length]);
    rig.member = "m2";
    await rig.interval();
    assert.deepEqual([rig.report.member, rig.report.quota], ["m2", 0]);
    assert.ok(rig.report.sequence > late.report.sequence);
    await rig.answer(1);
    assert.equal(rig.quota, 1);
    rig.quotas.stop();
  });

  test("says nothing under its old id of a domain that is declared in between either", async () => {
    const rig = new Rig([]);
    rig.quotas.start();
    rig.quotas.dropAll();
    rig.quotas.declare("gpu");
    await rig.clock.advance(5000);
    assert.equal(rig.calls.length, 0);
    rig.member = "m2";
    await rig.interval();
    assert.equal(rig.report.member, "m2");
    rig.quotas.stop();
  });

  test("has nothing under a new id, even if nobody said that the old one is gone", async () => {
    const rig = await Rig.holding(2);
    await rig.interval();
    rig.member = "m2";
    await rig.answer(3);
    assert.equal(rig.quota, 0);
    await rig.interval();
    assert.deepEqual([rig.report.member, rig.report.quota, rig.report.running], ["m2", 0, 2]);
    rig.quotas.stop();
  });
});

describe("attempts that change their member (Q4)", () => {
  test("use a slot where they left until they have ended or count elsewhere, and take it along", async () => {
    const rig = await Rig.holding(3);
    rig.quotas.onDetached("gpu", 0);
    rig.quotas.onDetached("gpu", 2);
    rig.running = 1;
    assert.equal(rig.quota, 1);
    await rig.interval();
    assert.deepEqual([rig.report.quota, rig.report.running], [3, 3]);
    await rig.answer(3);
    assert.equal(rig.quota, 1);
    await rig.clock.advance(workerLostMs - rebalanceMs);
    await rig.answer(3);
    await rig.interval();
    assert.deepEqual([rig.quota, rig.report.quota, rig.report.running], [1, 1, 1]);
    rig.quotas.stop();
  });

  test("are not brought back by the answer to a report that still had them", async () => {
    const rig = await Rig.holding(3);
    await rig.interval();
    const late = rig.call;
    rig.quotas.onDetached("gpu", 1, workerLostMs);
    rig.running = 2;
    assert.equal(rig.quota, 2);
    late.resolve({ epoch: 5, sequence: late.report.sequence, quota: 3 });
    await rig.clock.settle();
    assert.equal(rig.quota, 2);
    await rig.interval();
    assert.deepEqual([rig.report.quota, rig.report.running], [2, 2]);
    rig.quotas.stop();
  });

  test("are counted when a report that was made with them is answered by an allocator that it names", async () => {
    const rig = await Rig.holding(1);
    await rig.interval();
    rig.running = 2;
    let counted = false;
    const promise = rig.quotas.whenCounted("gpu").then(() => (counted = true));
    await rig.answer(1);
    assert.deepEqual([counted, rig.report.running], [false, 2]);
    await rig.fail();
    await rig.interval();
    await rig.answer(1, 6);
    assert.equal(counted, false);
    await rig.answer(1);
    assert.equal(counted, true);
    await promise;
    rig.quotas.stop();
  });

  test("are not counted by a member that is gone or stops", async () => {
    const rig = await Rig.holding(1);
    const one = rejects(rig.quotas.whenCounted("gpu"), "MEMBER_LOST");
    rig.quotas.dropAll();
    await one;
    const other = rejects(rig.quotas.whenCounted("gpu"), "ENGINE_STATE");
    rig.quotas.stop();
    await other;
  });
});
