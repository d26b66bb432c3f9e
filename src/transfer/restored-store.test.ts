import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { importerName, isHalfImported } from "../stores/importer.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { TestClock } from "../testing.ts";
import { markRestored, type RestoredStore } from "./restored-store.ts";

describe("a store that was restored from a backup", () => {
  let store: MemoryStore;
  let clock: TestClock;

  beforeEach(async () => {
    store = new MemoryStore({ clock: { now: () => 5000 } });
    clock = new TestClock();
    await store.open();
    await store.join({ id: "a", address: "" });
    await store.heartbeat("a");
    await store.claimShard(0, "a");
  });

  function mark({ isDryRun = false } = {}): Promise<RestoredStore> {
    return clock.until(markRestored(store, { clock, isDryRun }));
  }

  test("gets a new incarnation, and loses members whose heartbeats stand still; owners stay", async () => {
    const { rows: _rows, ...result } = await mark();
    const expected = { incarnationBefore: 0, incarnation: 5, members: ["a"], shards: 1, isHalfImported: false };
    assert.deepEqual(result, expected);
    const { incarnation, members, shards } = await store.heartbeat("nobody");
    assert.deepEqual({ incarnation, members }, { incarnation: 5, members: [] });
    assert.deepEqual(shards, [{ shard: 0, epoch: 6, owner: "a", lastBatch: 0, released: false }]);
  });

  test("may be marked again", async () => {
    await mark();
    const { incarnationBefore, incarnation, members } = await mark();
    assert.deepEqual(
      { incarnationBefore, incarnation, members },
      { incarnationBefore: 5, incarnation: 6, members: [] },
    );
  });

  test("stays as it is in a dry run", async () => {
    const before = await store.heartbeat("nobody");
    const { incarnation, members } = await mark({ isDryRun: true });
    assert.deepEqual({ incarnation, members }, { incarnation: undefined, members: ["a"] });
    assert.deepEqual(await store.heartbeat("nobody"), before);
  });

  for (const isDryRun of [false, true]) {
    test(`is refused while a member lives, ${isDryRun ? "also" : "and not only"} in a dry run`, async () => {
      clock.after(9000, () => void store.heartbeat("a"));
      await assert.rejects(
        mark({ isDryRun }),
        (error) => hasCode(error, "STORE_LOCKED") && /engines run on the store \(a\)/.test(error.message),
      );
      const { incarnation, members } = await store.heartbeat("nobody");
      assert.deepEqual([incarnation, members.length], [0, 1]);
    });
  }

  test("is refused if a member joins meanwhile", async () => {
    clock.after(3000, () => void store.join({ id: "b", address: "" }));
    await assert.rejects(mark(), (error) => hasCode(error, "STORE_LOCKED") && /\(b\)/.test(error.message));
  });

  test("is still half imported if it was at the time of the backup", async () => {
    await store.removeMember("a");
    await store.claimShard(0, importerName("i"));
    assert.equal((await mark()).isHalfImported, true);
    assert.ok(isHalfImported((await store.heartbeat("nobody")).shards));
  });
});
