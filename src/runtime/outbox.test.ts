import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type OffsetRow, noChanges, type OutboxRow } from "../stores/store.ts";
import { type OutboxMessage, Outbox } from "./outbox.ts";
import { FencingToken } from "./fencing-token.ts";

/** A message to an instance of that shard. */
function messageTo(shard: number): OutboxMessage {
  return { kind: "tell-child", from: 1, to: `${shard}`, order: { type: "PauseInstance" } };
}

function outboxOf(shard: number): Outbox {
  return new Outbox({ shard, incarnation: 0 }, Number);
}

describe("the outbox", () => {
  test("numbers messages without gaps, per target", () => {
    const outbox = outboxOf(3);
    const rows = [0, 0, 1, 0].map((target) => outbox.number(messageTo(target)));
    assert.deepEqual(
      rows.map(({ source, target, number }) => [source, target, number]),
      [
        [3, 0, 1],
        [3, 0, 2],
        [3, 1, 1],
        [3, 0, 3],
      ],
    );
    assert.deepEqual(JSON.parse(rows[0]?.body ?? ""), messageTo(0));
  });

  test("goes on after what earlier owners of the shard have sent", () => {
    const outbox = outboxOf(0);
    outbox.restore([
      { target: 1, number: 5 },
      { target: 2, number: 7 },
    ]);
    assert.equal(outbox.number(messageTo(1)).number, 6);
    assert.equal(outbox.number(messageTo(2)).number, 8);
    assert.equal(outbox.number(messageTo(0)).number, 1);
    assert.equal(outbox.number(messageTo(1)).number, 7);
  });

  test("begins above all earlier numbers in a new incarnation of the store", () => {
    const outbox = new Outbox({ shard: 0, incarnation: 5 }, Number);
    outbox.restore([{ target: 1, number: 5 * 2 ** 20 + 7 }]);
    assert.equal(outbox.number(messageTo(1)).number, 5 * 2 ** 20 + 8);
    assert.equal(outbox.number(messageTo(2)).number, 5 * 2 ** 20 + 1);
  });

  test("a next owner goes on where this one was, whether or not its messages were read", async () => {
    const store = new MemoryStore();
    await store.open();
    const first = outboxOf(0);
    await write(store, [first.number(messageTo(1)), first.number(messageTo(1)), first.number(messageTo(2))]);
    await write(store, [], [{ shard: 1, source: 0, number: 2 }]);
    const next = outboxOf(0);
    next.restore(await store.loadSent(0));
    assert.equal(next.number(messageTo(1)).number, 3, "the sender's row tells of messages that are gone");
    assert.equal(next.number(messageTo(2)).number, 2, "one that was not read is there to be seen");
  });
});

async function write(store: MemoryStore, outbox: OutboxRow[], offsets: OffsetRow[] = []): Promise<void> {
  const claim = await store.claimShard(0, "me");
  assert.ok(claim);
  const fence = new FencingToken(0, claim).fence(false);
  await store.commit({ fences: [fence], changes: { ...noChanges(), outbox, offsets } });
}
