import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { EngineError } from "../../src/base/error.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Batch, InstanceFilter, ShardClaim, Store } from "../../src/stores/store.ts";
import { filter, steps } from "./store/random-batches.ts";
import type { Step } from "./store/random-batches.ts";

test("any sequence of batches leaves both stores with the same answers", async () => {
  const property = fc.asyncProperty(steps, fc.array(filter, { maxLength: 5 }), async (taken, filters) => {
    const memory = await answers(new MemoryStore({ delay: async () => undefined }), taken, filters);
    const sqlite = await answers(new SqliteStore({ file: ":memory:" }), taken, filters);
    assert.deepEqual(sqlite, memory);
  });
  await fc.assert(property, { numRuns: 300 });
});

async function answers(store: Store, taken: readonly Step[], filters: readonly InstanceFilter[]): Promise<unknown[]> {
  await store.open();
  try {
    const outcomes: unknown[] = [];
    let claim = await store.claimShard(0, "a");
    for (const step of taken) {
      if (step.kind === "claim") claim = await store.claimShard(0, "a");
      else {
        const batch = batchOf(step, claim);
        const outcome = await outcomeOf(store.commit(batch));
        if (outcome === "landed") claim = { ...claim, batch: batch.number };
        outcomes.push(outcome);
      }
    }
    return [claim, outcomes, await everyRead(store, filters)];
  } finally {
    await store.close();
  }
}

function batchOf(step: Step & { kind: "commit" }, claim: ShardClaim): Batch {
  const { changes, clean, lag } = step;
  const number = claim.batch + 1 - lag.batches;
  return { shard: 0, epoch: claim.epoch - lag.epochs, number, lastKey: number, clean, changes };
}

async function outcomeOf(commit: Promise<void>): Promise<string> {
  try {
    await commit;
    return "landed";
  } catch (error) {
    if (error instanceof EngineError) return error.code;
    throw error;
  }
}

async function everyRead(store: Store, filters: readonly InstanceFilter[]): Promise<unknown[]> {
  const keys = [1, 2, 3, 4, 5, 6];
  const texts = ["a", "ab", "b", "", "\u0000", "\ud800", "\udc00", "\ufdd0", "😀"];
  return [
    await store.claimShard(0, "b"),
    await store.loadInstances(0, { after: 1, limit: 3 }),
    await store.loadHistory(keys),
    await store.readHistory(1, { afterTurn: 2, limit: 2 }),
    await store.loadOutbox(0),
    await store.loadMarks(0),
    await Promise.all(keys.map((key) => store.readTasks(key))),
    await Promise.all(keys.map((key) => payloadsOf(store, key))),
    await Promise.all(texts.map((text) => store.findFinished(text))),
    await Promise.all(texts.map((text) => store.latestDefinition(text))),
    await Promise.all(texts.map((text) => store.loadDefinition(text, "a"))),
    await store.finishedBefore({ status: "Success", endedBefore: 10, limit: 3 }),
    await Promise.all(filters.map((one) => store.listInstances(one))),
  ];
}

async function payloadsOf(store: Store, instance: number): Promise<string[]> {
  const refs = Array.from({ length: 21 }, (_, ref) => ref);
  const read = refs.map((ref) => store.readPayloads(instance, [ref]).catch(() => ["none"]));
  return (await Promise.all(read)).flat();
}
