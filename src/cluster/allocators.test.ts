import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { EngineError, hasCode } from "../base/error.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type AllocatorClaim, Allocators, type AllocatorsParts } from "./allocators.ts";
import type { SlotReport } from "./slot-report.ts";

function claimOf(epoch: number, claimedAt: number): AllocatorClaim {
  return { epoch, claimedAt };
}

describe("the allocators on a member's shards", () => {
  let clock: TestClock;
  let store: MemoryStore;
  /** Of the newest view, and when it was asked for. */
  let living: Set<string>;
  let viewAskedAt: number;
  let sequence: number;

  beforeEach(async () => {
    clock = new TestClock();
    store = new MemoryStore();
    await store.open();
    await store.declareDomains([{ name: "gpu", size: 4, priority: 0 }]);
    living = new Set(["a", "b"]);
    viewAskedAt = clock.monotonic();
    sequence = 0;
  });

  function make(parts: Partial<AllocatorsParts> = {}): Allocators {
    return new Allocators({
      store,
      clock,
      members: { livingSince: (moment) => (viewAskedAt >= moment ? living : undefined) },
      workerLostMs: 0,
      quietMs: () => 0,
      ...parts,
    });
  }

  function report(member: string, epoch: number, told: Partial<SlotReport> = {}): SlotReport {
    const nothing = { quota: 0, running: 0, waiting: 0, hasRemoteWorkers: false };
    return { domain: "gpu", member, sequence: ++sequence, epoch, ...nothing, ...told };
  }

  /** The quota that a member gets which could use everything. */
  async function quotaOf(allocators: Allocators, claim: AllocatorClaim, member: string): Promise<number> {
    const grant = await allocators.report(claim, report(member, claim.epoch, { waiting: 100 }));
    return grant.quota;
  }

  test("hand out as many slots as the store says that the domain has", async () => {
    const allocators = make();
    const shard = claimOf(7, clock.monotonic());
    await allocators.report(shard, report("b", 7));
    assert.deepEqual(await allocators.report(shard, report("a", 7, { waiting: 100 })), {
      epoch: 7,
      sequence: 2,
      quota: 4,
    });
  });

  test("hand out nothing before everybody was heard who may have a part", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic());
    assert.equal(await quotaOf(allocators, shard, "a"), 0);
    await allocators.report(shard, report("b", 1));
    assert.equal(await quotaOf(allocators, shard, "a"), 4);
  });

  test("know what they handed out as long as the shard stays", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic());
    await allocators.report(shard, report("b", 1));
    assert.equal(await quotaOf(allocators, shard, "a"), 4);
    assert.equal(await quotaOf(allocators, shard, "b"), 0);
  });

  test("begin anew when the shard has come back under another claim", async () => {
    const allocators = make();
    const first = claimOf(1, clock.monotonic());
    await allocators.report(first, report("b", 1));
    assert.equal(await quotaOf(allocators, first, "a"), 4);
    const second = claimOf(3, clock.monotonic());
    assert.equal(await quotaOf(allocators, second, "b"), 0, "what the other has is not known yet");
    await allocators.report(second, report("a", 3, { quota: 4, running: 3 }));
    assert.equal(await quotaOf(allocators, second, "b"), 0);
  });

  test("take a new size when it is in the store", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic());
    await allocators.report(shard, report("b", 1));
    await allocators.resize(shard, { name: "gpu", size: 9, priority: 0 });
    assert.equal(await quotaOf(allocators, shard, "a"), 9);
    await allocators.resize(shard, { name: "gpu", size: 5, priority: 0 });
    assert.equal(await quotaOf(allocators, shard, "a"), 5);
  });

  test("may be told a new size before anybody has reported", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic());
    await allocators.resize(shard, { name: "gpu", size: 6, priority: 0 });
    await allocators.report(shard, report("b", 1));
    assert.equal(await quotaOf(allocators, shard, "a"), 6);
  });

  test("know a domain as soon as somebody has declared it", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic());
    const ask = (): Promise<unknown> => allocators.report(shard, report("a", 1, { domain: "disk" }));
    await assert.rejects(ask(), { code: "DOMAIN_UNKNOWN", message: 'domain "disk" is not declared in the cluster' });
    await store.declareDomains([{ name: "disk", size: 1, priority: 0 }]);
    await ask();
  });

  test("try again after the store was away", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic());
    const loadDomains = store.loadDomains.bind(store);
    store.loadDomains = () => Promise.reject(new EngineError("STORE_UNAVAILABLE", "away"));
    const ask = (): Promise<unknown> => allocators.report(shard, report("b", 1));
    await assert.rejects(ask(), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    store.loadDomains = loadDomains;
    await ask();
  });

  test("that could not be made for an earlier claim do not harm those of this one", async () => {
    const allocators = make();
    const reads: PromiseWithResolvers<never>[] = [];
    const loadDomains = store.loadDomains.bind(store);
    store.loadDomains = () => {
      const read = Promise.withResolvers<never>();
      reads.push(read);
      return read.promise;
    };
    const early = allocators.report(claimOf(1, clock.monotonic()), report("a", 1));
    store.loadDomains = loadDomains;
    const shard = claimOf(2, clock.monotonic());
    await allocators.report(shard, report("b", 2));
    assert.equal(await quotaOf(allocators, shard, "a"), 4);
    reads[0]?.reject(new EngineError("STORE_UNAVAILABLE", "away"));
    await assert.rejects(early, (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.equal(await quotaOf(allocators, shard, "b"), 0, "it remembers that all is given away");
  });

  test("say that they cannot answer yet, and never that the shard has moved: nobody else knows better", async () => {
    const allocators = make();
    const shard = claimOf(3, clock.monotonic());
    const unanswered = (error: unknown): boolean => hasCode(error, "CALL_UNANSWERED");
    await assert.rejects(allocators.report(shard, report("stranger", 3)), unanswered);
    await assert.rejects(allocators.report(shard, report("a", 4)), unanswered, "it knows of a later claim");
    viewAskedAt = shard.claimedAt - 1;
    await assert.rejects(make().report(shard, report("a", 3)), unanswered, "there is no view since the claim");
  });

  test("look only at views from after the claim", async () => {
    const allocators = make();
    const shard = claimOf(1, clock.monotonic() + 500);
    await assert.rejects(quotaOf(allocators, shard, "a"), (error) => hasCode(error, "CALL_UNANSWERED"));
    viewAskedAt = shard.claimedAt;
    living = new Set(["a"]);
    assert.equal(await quotaOf(allocators, shard, "a"), 4);
  });

  test("wait for workers that may have outlived their member, as long as they may at the moment of the claim", async () => {
    let quietMs = 3000;
    living = new Set(["a"]);
    const allocators = make({ workerLostMs: 60_000, quietMs: () => quietMs });
    const shard = claimOf(1, clock.monotonic());
    assert.equal(await quotaOf(allocators, shard, "a"), 0);
    quietMs = 60_000;
    await clock.advance(3000);
    assert.equal(await quotaOf(allocators, shard, "a"), 4);
  });

  test("keep what the workers of a member that died may still use", async () => {
    const allocators = make({ workerLostMs: 60_000 });
    const shard = claimOf(1, clock.monotonic());
    await allocators.report(shard, report("b", 1, { quota: 3, running: 3, hasRemoteWorkers: true }));
    living = new Set(["a"]);
    assert.equal(await quotaOf(allocators, shard, "a"), 1);
    await clock.advance(60_000);
    assert.equal(await quotaOf(allocators, shard, "a"), 4);
  });
});
