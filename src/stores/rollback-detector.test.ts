import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type EngineError, hasCode } from "../base/error.ts";
import { type MemoryBackup, MemoryStore } from "./memory/memory-store.ts";
import { RollbackDetector } from "./rollback-detector.ts";
import { noChanges, type Store } from "./store.ts";
import { overrideStore } from "./wrap-store.ts";

const isRolledBack = (error: unknown): boolean => hasCode(error, "STORE_ROLLED_BACK");

describe("a store that goes back under its user", () => {
  let memory: MemoryStore;
  let store: Store;
  let reports: EngineError[];
  let backup: MemoryBackup;

  beforeEach(async () => {
    memory = new MemoryStore({ delay: async () => undefined, clock: { now: () => 1000 } });
    await memory.open();
    reports = [];
    store = new RollbackDetector(memory, (error) => void reports.push(error)).store;
    await memory.join({ id: "a", address: "" });
    await store.heartbeat("a");
    await store.claimShard(0, "a");
    await commit(1);
    backup = memory.backUp();
  });

  async function commit(number: number, epoch = 1): Promise<void> {
    const fence = { shard: 0, epoch, number, lastKey: 0, released: false };
    await store.commit({ fences: [fence], changes: noChanges() });
  }

  async function assertNoticed(call: () => Promise<unknown>, reason: RegExp): Promise<void> {
    await assert.rejects(call(), isRolledBack);
    assert.equal(reports.length, 1);
    assert.match(reports[0]?.message ?? "", reason);
    for (const again of [() => store.heartbeat("a"), () => store.claimShard(1, "a"), () => commit(9)]) {
      await assert.rejects(again(), (error) => error === reports[0]);
    }
    assert.equal(reports.length, 1);
  }

  test("is noticed by a busy one, whose next batch finds an earlier one", async () => {
    await commit(2);
    memory.restore(backup);
    await assertNoticed(() => commit(3), /epoch 1 and batch 2 of shard 0 were acknowledged.* epoch 1 and batch 1/);
  });

  test("is noticed by a busy one, whose epoch is gone", async () => {
    await store.claimShard(0, "a");
    memory.restore(backup);
    await assertNoticed(() => commit(2, 2), /epoch 2 and batch 1 of shard 0 were acknowledged.* epoch 1 and batch 1/);
  });

  test("is noticed by an idle one, whose next view shows an earlier batch, epoch or heartbeat", async () => {
    await commit(2);
    memory.restore(backup);
    await assertNoticed(() => store.heartbeat("nobody"), /batch 2 of shard 0/);
  });

  test("is noticed by one that has no shard, by its heartbeat", async () => {
    await store.heartbeat("a");
    await store.heartbeat("a");
    memory.restore(backup);
    await assertNoticed(() => store.heartbeat("a"), /its heartbeat 3 was acknowledged, and the store has 2/);
  });

  test("is noticed by one that was removed and has joined again, by the heartbeat of its former id", async () => {
    await store.heartbeat("a");
    await memory.removeMember("a");
    await memory.join({ id: "a2", address: "" });
    await store.heartbeat("a2");
    memory.restore(backup);
    await assertNoticed(() => store.heartbeat("a2"), /its heartbeat 2 was acknowledged, and the store has 1/);
  });

  test("is not suspected if a former id is still there", async () => {
    await memory.join({ id: "a2", address: "" });
    await store.heartbeat("a2");
    await store.heartbeat("a2");
    await store.heartbeat("nobody");
    assert.deepEqual(reports, []);
  });

  test("is noticed by a shard that is missing, and by a claim", async () => {
    await store.claimShard(7, "a");
    memory.restore(backup);
    await assertNoticed(
      () => store.heartbeat("nobody"),
      /of shard 7 were acknowledged, and the shard has no owner yet/,
    );
  });

  test("is noticed by the claim of a shard whose batches are gone, although its epoch is a new one", async () => {
    await commit(2);
    memory.restore(backup);
    await assertNoticed(() => store.claimShard(0, "a"), /batch 2 of shard 0 .* batch 1/);
  });

  test("is noticed as well once it has a new incarnation", async () => {
    await memory.beginIncarnation();
    await assertNoticed(() => store.heartbeat("nobody"), /its incarnation was 0, and is 1/);
  });

  test("is not suspected if another has taken the shard over, or a commit comes twice", async () => {
    await commit(1);
    await memory.removeMember("a");
    await memory.claimShard(0, "b");
    await assert.rejects(commit(2), (error) => hasCode(error, "STORE_FENCED"));
    await store.heartbeat("a");
    assert.deepEqual(reports, []);
  });

  test("is not suspected of what was acknowledged after the question was asked", async () => {
    let answer: () => void = () => undefined;
    const slow = overrideStore(memory, {
      heartbeat: async (member) => {
        const view = await memory.heartbeat(member);
        await new Promise<void>((resolve) => (answer = resolve));
        return view;
      },
    });
    store = new RollbackDetector(slow, (error) => void reports.push(error)).store;
    await store.claimShard(0, "a");
    const view = store.heartbeat("nobody");
    await commit(2, 2);
    await store.claimShard(3, "a");
    answer();
    assert.equal((await view).shards[0]?.lastBatch, 1);
    assert.deepEqual(reports, []);
  });

  test("is not suspected of what was read and never acknowledged: a server may lose that in a crash", async () => {
    const other = memory.connect();
    await other.open();
    await other.claimShard(5, "b");
    await store.heartbeat("nobody");
    const late = memory.backUp();
    late.tables.shards.delete(5);
    memory.restore(late);
    await store.heartbeat("nobody");
    assert.deepEqual(reports, []);
  });
});
