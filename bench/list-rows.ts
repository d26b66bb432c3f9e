import { createHash } from "node:crypto";
import type { EndStatus } from "../src/kernel/status.ts";
import { firstKey } from "../src/stores/instance-key.ts";
import { appendTurn } from "../src/stores/turn-text.ts";
import { type Fence, type FinishedRow, type InstanceRow, noChanges, type Store } from "../src/stores/store.ts";

const rowsPerBatch = 5000;
const owner = "the benchmark";
const firstAt = Date.UTC(2026, 0, 1);
const apartMs = 100;

/** A history that is about as long as one in the row of its instance may be. */
const history = appendTurn(null, {
  instance: 0,
  turn: 0,
  firstEvent: 0,
  at: firstAt,
  events: JSON.stringify(["event".repeat(180)]),
});

/** The oldest ones have ids of their own; of the others every second has a number, and the rest are UUIDs. */
const oldCount = 5000;

export function createdAt(instance: number): number {
  return firstAt + instance * apartMs;
}

export function idOf(instance: number): string {
  const digits = String(instance).padStart(8, "0");
  if (instance < oldCount) return `old-${digits}`;
  if (instance % 2 === 1) return `order-${digits}`;
  const hex = createHash("md5").update(digits).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function workflowOf(instance: number): string {
  return instance % 50_000 === 0 ? "rare" : `workflow ${instance % 10}`;
}

export function statusOf(instance: number): EndStatus {
  if (instance % 1000 === 7) return "Terminated";
  return instance % 10 === 3 ? "Failed" : "Success";
}

/** One ended instance after the other, and some that have not ended, in big batches through the store's own commit. */
export async function fill(store: Store, counts: { finished: number; unfinished: number }): Promise<void> {
  const shards = await store.settleShardCount(store.clusters === "never" ? 1 : 128);
  await store.join({ id: owner, address: "" });
  const epochs: number[] = [];
  for (let shard = 0; shard < shards; shard++) epochs.push((await store.claimShard(shard, owner))?.epoch ?? 0);
  const all = counts.finished + counts.unfinished;
  for (let first = 0, number = 1; first < all; first += rowsPerBatch, number++) {
    const changes = noChanges();
    const end = Math.min(first + rowsPerBatch, all);
    for (let instance = first; instance < end; instance++) {
      const key = firstKey(instance % shards) + Math.floor(instance / shards);
      if (instance < counts.finished) changes.finished.push(finishedRow(instance, key));
      else changes.instances.push(unfinishedRow(instance, key));
    }
    const lastKey = Math.ceil(end / shards);
    const fences = epochs.map((epoch, shard): Fence => {
      return { shard, epoch, number, lastKey: firstKey(shard) + lastKey, released: end === all };
    });
    await store.commit({ fences, changes });
  }
}

function finishedRow(instance: number, key: number): FinishedRow {
  const at = createdAt(instance);
  const status = statusOf(instance);
  return {
    key,
    id: idOf(instance),
    workflow: workflowOf(instance),
    version: "1",
    status,
    generation: 1,
    reason: status === "Success" ? null : "task ship failed",
    createdAt: at,
    endedAt: at + 5 * apartMs,
    tasks: 5,
    app: null,
    tasksFailed: status === "Failed" ? 1 : 0,
    history,
  };
}

function unfinishedRow(instance: number, key: number): InstanceRow {
  const at = createdAt(instance);
  return {
    key,
    id: idOf(instance),
    workflow: workflowOf(instance),
    version: "1",
    status: "Running",
    generation: 1,
    wakeAt: null,
    active: true,
    waitingTasks: 0,
    createdAt: at,
    updatedAt: at,
    quarantined: null,
    app: null,
    history,
  };
}
