import assert from "node:assert/strict";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { shardOfKey } from "../../src/stores/instance-key.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import type { OutboxMessage } from "../../src/runtime/outbox.ts";
import { shardOf } from "../engine/engine-cluster-rig.ts";
import { contents, fill, lastOwner, needed, savedVersions } from "./random-contents.ts";
import { linesOf, told } from "./transfer-rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const shardCount = fc.constantFrom(1, 2, 3, 16);

async function opened<S extends Store>(store: S): Promise<S> {
  await store.open();
  return store;
}

const sqliteStore = (): Promise<Store> => opened(new SqliteStore({ file: ":memory:" }));
const memory = (): Promise<Store> => opened(new MemoryStore({ delay: () => Promise.resolve() }));

describe("what moves from store to store", () => {
  test("is the same there, whatever it is and however many shards there are", async () => {
    await fc.assert(
      fc.asyncProperty(contents, shardCount, shardCount, async (drawn, one, other) => {
        const first = await memory();
        const second = await sqliteStore();
        const third = await memory();
        await fill(first, one, drawn);
        const lines = await linesOf(first);
        const counts = await importInstances(second, lines);
        assert.equal(counts.unfinished + counts.finished, drawn.instances.length);
        for (const { name, version } of needed(drawn)) assert.ok(await second.findDefinition(name, version));
        assert.deepEqual(told(await linesOf(second)), told(lines));
        await importInstances(third, await linesOf(second), { shards: other });
        assert.deepEqual(told(await linesOf(third)), told(lines));
        for (const name of drawn.documents) {
          assert.ok(await third.findDocument("token", name));
          const versions = await third.listDefinitions(name, { limit: 10 });
          assert.deepEqual(
            versions.map(({ version }) => version),
            savedVersions.toReversed(),
          );
        }
        await checkPlaces(third, other, drawn.released);
        await second.close();
      }),
      { numRuns: 150 },
    );
  });
});

describe("the gate of a workflow with a maximum", () => {
  /** The kinds of messages that two instances which wait for a place find in a store of so many shards. */
  async function messages(shards: number): Promise<string[]> {
    const [instance] = fc.sample(contents.filter(({ instances }) => instances.length > 0))[0]?.instances ?? [];
    assert.ok(instance !== undefined);
    const waiting = { ...instance, workflow: "nightly", version: "v1", status: "Ready", quarantined: null } as const;
    const first = await memory();
    await fill(first, 3, {
      instances: [
        { ...waiting, id: "refused" },
        { ...waiting, id: "waits" },
        { ...waiting, id: "quarantined", quarantined: "a bug" },
      ],
      messages: [{ kind: "admit", from: 0, to: 0, text: "too many", isRefusal: true }],
      documents: [],
      released: true,
    });
    const second = await memory();
    await importInstances(second, await linesOf(first), { shards });
    const found = await second.loadOutbox(Array.from({ length: shards }, (_, shard) => shard));
    return found.map(({ body }) => {
      const message = JSON.parse(body) as OutboxMessage;
      return `${message.kind} ${message.kind === "enter-gate" ? message.instanceId : message.to}`;
    });
  }

  test("is asked again by those that wait, but not by one that is to hear that there is no place", async () => {
    assert.deepEqual((await messages(2)).sort(), ["admit refused", "enter-gate waits"]);
  });

  test("needs no asking where one engine is alone", async () => {
    assert.deepEqual(await messages(1), ["admit refused"]);
  });
});

test("lines may go through a file, whatever characters are in them", async (t) => {
  const store = await memory();
  const [drawn] = fc.sample(
    contents.filter(({ instances }) => instances.length > 8),
    { numRuns: 1, seed: 5 },
  );
  assert.ok(drawn !== undefined);
  await fill(store, 1, drawn);
  const file = join(temporaryFolder(t), "lines.jsonl");
  await pipeline(exportInstances(store), createWriteStream(file));
  const other = await memory();
  const lines = await open(file);
  await importInstances(other, lines.readLines());
  assert.ok((await linesOf(other)).join("").includes("\\u2028"), "a character that ends a line for many readers");
  assert.deepEqual(told(await linesOf(other)), told(await linesOf(store)));
});

test(
  "lines of a file are kept that is read before the store is claimed, as on a database server",
  { timeout: 20_000 },
  async (t) => {
    const store = await memory();
    const file = join(temporaryFolder(t), "lines.jsonl");
    await pipeline(exportInstances(store), createWriteStream(file));
    const lines = (await open(file)).readLines();
    const wasRead = once(lines, "close");
    const slow = await memory();
    const claimShard = slow.claimShard.bind(slow);
    slow.claimShard = async (...given) => {
      await wasRead;
      return await claimShard(...given);
    };
    await importInstances(slow, lines);
    assert.deepEqual(told(await linesOf(slow)), told(await linesOf(store)));

    // A refused import closes the file, and leaves no lines behind.
    const others = (await open(file)).readLines();
    slow.claimShard = () => Promise.reject(new Error("no shard today"));
    await assert.rejects(importInstances(slow, others), /no shard today/);
    for await (const line of others) assert.fail(line);
  },
);

/** Everything is where an engine looks for it, and whoever claims a shard finds it as the last owner left it. */
async function checkPlaces(store: Store, shards: number, released: boolean): Promise<void> {
  const idOf = new Map((await store.listInstances({ limit: 100 })).map(({ key, id }) => [key, id]));
  const keys = [...idOf.keys()];
  for (const [key, id] of idOf) assert.equal(shardOfKey(key), shardOf(id, shards));
  for (let shard = 0; shard < shards; shard++) {
    const marks = new Map((await store.loadOffsets(shard)).map(({ source, number }) => [source, number]));
    for (const { source, target, number, body } of await store.loadOutbox([shard])) {
      const message = JSON.parse(body) as OutboxMessage;
      assert.equal(number, (marks.get(source) ?? 0) + 1, "messages are numbered on from the mark, without a gap");
      marks.set(source, number);
      assert.equal(target, shardOf(message.to, shards));
      if (message.from !== 0) assert.equal(source, shardOf(idOf.get(message.from) ?? "", shards));
    }
    const claim = await store.claimShard(shard, "next");
    assert.ok(claim !== undefined);
    assert.ok(keys.every((key) => shardOfKey(key) !== shard || key <= claim.lastKey));
    assert.equal(claim.released, released);
    assert.equal(claim.previousOwner, lastOwner);
  }
}
