import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { MemoryStore } from "../../../src/stores/memory/memory-store.ts";
import type { DomainRow, InstanceFilter, LineRow, SavedDefinition, Store } from "../../../src/stores/store.ts";
import { filter, texts } from "./random-batches.ts";
import { mailboxes, memberIds, steps } from "./random-steps.ts";
import type { Step } from "./random-steps.ts";
import { StepTaker } from "./step-taker.ts";
import { type MakeStore, viewWithoutEpochs, withoutEpochs } from "./subject.ts";

/** Whatever is done to it, a store answers as the one in memory does. */
export function equalitySuite(name: string, makeStore: MakeStore, numRuns: number): void {
  test(`${name}: any sequence of steps gives the same answers as in memory, and leaves the same behind`, async () => {
    const property = fc.asyncProperty(steps, fc.array(filter, { maxLength: 5 }), async (taken, filters) => {
      const memory = new MemoryStore({ delay: async () => undefined });
      await memory.open();
      const expected = await answers(memory, taken, filters);
      assert.deepEqual(await answers((await makeStore()).store, taken, filters), expected);
    });
    await fc.assert(property, { numRuns });
  });
}

async function answers(store: Store, taken: readonly Step[], filters: readonly InstanceFilter[]): Promise<unknown[]> {
  try {
    const taker = new StepTaker(store);
    const outcomes: unknown[] = [];
    for (const step of taken) outcomes.push(await taker.take(step));
    return [outcomes, await everyRead(store, filters), await everyClusterRead(store), await everyOtherRead(store)];
  } finally {
    await store.close();
  }
}

async function everyRead(store: Store, filters: readonly InstanceFilter[]): Promise<unknown[]> {
  const keys = [1, 2, 3, 4, 5, 6];
  return [
    await store.listUnfinished(0, { after: 1, limit: 3 }),
    await store.loadHistory(keys),
    await store.listHistory(1, { afterTurn: 2, limit: 2 }),
    await Promise.all(keys.map((key) => store.listHistory(key, { afterTurn: 19, limit: 3 }))),
    await Promise.all(keys.map((key) => payloadsOf(store, key))),
    await Promise.all(texts.map((text) => store.findFinished(text))),
    await Promise.all(texts.map((text) => store.findLatestDefinition(text))),
    await Promise.all(texts.map((text) => store.findDefinition(text, "a"))),
    await store.listFinishedBefore({ status: "Success", endedBefore: 30, limit: 3 }),
    await Promise.all(filters.map((one) => store.listInstances(one))),
  ];
}

/** The view comes before the claims, which change it. */
async function everyClusterRead(store: Store): Promise<unknown[]> {
  const shards = [0, 1, 2, 3];
  return [
    viewWithoutEpochs(await store.heartbeat("nobody")),
    await claims(store, shards, ["somebody else", ...memberIds]),
    await store.settleShardCount(99),
    await store.loadOutbox(shards),
    await store.loadOutbox([2]),
    await store.loadOutboxOf(1),
    await Promise.all(shards.map((shard) => store.loadOffsets(shard))),
    await Promise.all(shards.map((shard) => store.loadSent(shard))),
    await Promise.all(shards.flatMap((shard) => texts.map((text) => store.findRequest(shard, text)))),
    (await store.listMailboxRows(mailboxes, 100)).map(({ mailbox, body }) => [mailbox, body]),
    (await store.listMailboxRows(mailboxes.slice(1), 2)).map(({ mailbox, body }) => [mailbox, body]),
    (await store.loadDomains()).sort(byName),
  ];
}

async function everyOtherRead(store: Store): Promise<unknown[]> {
  return [
    await store.listDocuments("token", { limit: 100 }),
    await Promise.all(texts.map((after) => store.listDocuments("token", { after, limit: 2 }))),
    await Promise.all(texts.map((text) => store.findDocument("token", text))),
    await Promise.all(texts.map(async (text) => unnumbered(await store.listLines(text, { limit: 100 })))),
    await Promise.all(texts.map(async (text) => unnumbered(await store.listLines(text, { last: true, limit: 2 })))),
    await Promise.all(texts.map(async (text) => unnumbered(await store.listDefinitions(text, { limit: 100 })))),
  ];
}

/** Numbers are each store's own; only their order is the same. */
function unnumbered(rows: readonly (LineRow | SavedDefinition)[]): unknown[] {
  return rows.map((row) => ("saveNumber" in row ? { ...row, saveNumber: 0 } : { ...row, number: 0 }));
}

/** One after the other: a server takes those that are sent at once in any order. */
async function claims(store: Store, shards: readonly number[], owners: readonly string[]): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const shard of shards) for (const owner of owners) all.push(withoutEpochs(await store.claimShard(shard, owner)));
  return all;
}

function byName(a: DomainRow, b: DomainRow): number {
  return a.name < b.name ? -1 : 1;
}

async function payloadsOf(store: Store, instance: number): Promise<string[]> {
  const refs = Array.from({ length: 21 }, (_, ref) => ref);
  const read = refs.map((ref) => store.loadPayloads(instance, [ref]).catch(() => ["none"]));
  return (await Promise.all(read)).flat();
}
