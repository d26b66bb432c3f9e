import { hasCode } from "../../src/base/error.ts";
import { firstKey } from "../../src/stores/instance-key.ts";
import type { Changes, Store } from "../../src/stores/store.ts";
import { finishedRow, historyRow, instanceRow, outboxRow, requestRow, textOf } from "../contract/store/rows.ts";

/** Which shard a batch is of, and which one of that shard's. */
export interface Which {
  readonly shard: number;
  readonly number: number;
}

/**
 * A row in every table that a turn writes, and none that another number writes; and the shard's looping instance, whose
 * history begins anew with every batch.
 */
export function wholeBatch(which: Which): Partial<Changes> {
  const { shard, number } = which;
  const [key, ended] = keysOf(which);
  const looping = loopingKey(shard);
  const outbox = outboxRow({ source: shard, target: shard + 1, number });
  return {
    trims: [{ instance: looping, turn: number, ref: number }],
    definitions: [{ name: `whole-${key}`, version: "v1", spec: "{}", createdAt: 1 }],
    instances: [instanceRow({ key }), instanceRow({ key: looping })],
    finished: [finishedRow({ key: ended, history: textOf(ended, [0, 1]) })],
    history: [
      ...[0, 1, 2].map((turn) => historyRow({ instance: key, turn })),
      historyRow({ instance: looping, turn: number }),
    ],
    payloads: [
      { instance: key, ref: 1, body: "x".repeat(6000) },
      { instance: looping, ref: number, body: "y" },
    ],
    outbox: [outbox],
    offsets: [{ shard, source: shard + number + 1, number: 1 }],
    requests: [requestRow({ shard, idempotencyKey: `request-${key}` })],
  };
}

/** "all" of the batch, or "nothing"; otherwise the parts of it that are in the store. */
export async function whatLanded(store: Store, which: Which): Promise<string> {
  const parts = await partsOf(store, which);
  const there = Object.entries(parts).filter(([, isThere]) => isThere);
  if (there.length === 0) return "nothing";
  return there.length === Object.keys(parts).length ? "all" : `only ${there.map(([part]) => part).join(", ")}`;
}

async function partsOf(store: Store, which: Which): Promise<Record<string, boolean>> {
  const { shard, number } = which;
  const [key, ended] = keysOf(which);
  const instances = await store.listUnfinished(shard, { after: key - 1, limit: 1 });
  const messages = await store.loadOutbox([shard + 1]);
  const marks = await store.loadOffsets(shard);
  const looping = loopingKey(shard);
  const [first] = await store.listUnfinished(shard, { after: looping - 1, limit: 1 });
  const loops = first?.key === looping;
  return {
    "earlier turns gone": loops && (await store.loadHistory([looping])).every(({ turn }) => turn >= number),
    definition: (await store.findDefinition(`whole-${key}`, "v1")) !== undefined,
    instance: instances[0]?.key === key,
    finished: (await store.findFinished(`instance-${ended}`)) !== undefined,
    "three turns": (await store.loadHistory([key])).length === 3,
    "a turn": (await store.loadHistory([key])).length > 0,
    "turns of the finished": (await store.loadHistory([ended])).length === 2,
    payload: await hasPayload(store, key),
    message: messages.some((message) => message.source === shard && message.number === number),
    mark: marks.some(({ source }) => source === shard + number + 1),
    request: (await store.findRequest(shard, `request-${key}`)) !== undefined,
  };
}

/** Below those of all its batches. */
function loopingKey(shard: number): number {
  return firstKey(shard);
}

/** Of the instance that is under way, and of the one that has ended. */
export function keysOf({ shard, number }: Which): [key: number, ended: number] {
  const key = firstKey(shard) + 2 * number;
  return [key, key + 1];
}

async function hasPayload(store: Store, key: number): Promise<boolean> {
  try {
    return (await store.loadPayloads(key, [1])).length === 1;
  } catch (error) {
    if (hasCode(error, "STORE_DATA")) return false;
    throw error;
  }
}
