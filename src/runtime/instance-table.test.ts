import assert from "node:assert/strict";
import { EndedMaps } from "./ended-maps.ts";
import { describe, test } from "node:test";
import { memoryStore } from "../testing.ts";
import type { Definitions } from "./definitions.ts";
import type { InstanceRow, Store } from "../stores/store.ts";
import type { InstanceActor, StoredInstance } from "./instance-actor.ts";
import { InstanceEntry } from "./instance-entry.ts";
import { InstanceTable } from "./instance-table.ts";

function newTable(): InstanceTable {
  const unused = (): never => assert.fail("nothing is loaded here");
  const definitions = { load: unused } as unknown as Definitions;
  return new InstanceTable({
    shard: 0,
    store: memoryStore(),
    definitions,
    newActor: unused,
    onBroken: unused,
    endedMaps: new EndedMaps(),
  });
}

function entry(id: string, key: number): InstanceEntry {
  return new InstanceEntry({ id, key, workflow: "w", version: "1", status: "Running", at: 0 });
}

/** A commit of a purge, which the test begins and ends. */
class HeldCommit {
  readonly written: number[] = [];
  readonly #begun = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<void>();
  readonly #failure: Error | undefined;

  constructor(failure?: Error) {
    this.#failure = failure;
  }

  readonly write = async (keys: () => number[]): Promise<void> => {
    await this.#begun.promise;
    this.written.push(...keys());
    await this.#done.promise;
    if (this.#failure !== undefined) throw this.#failure;
  };

  async begin(): Promise<void> {
    this.#begun.resolve();
    await Promise.resolve();
  }

  end(): void {
    this.#done.resolve();
  }
}

describe("a purge takes", () => {
  test("instances that are not in memory, and no others", async () => {
    const table = newTable();
    table.add(entry("b", 2));
    const commit = new HeldCommit();
    const purged = table.purge(
      [
        { id: "a", key: 1 },
        { id: "b", key: 2 },
      ],
      commit.write,
    );
    await commit.begin();
    commit.end();
    assert.equal(await purged, 1);
    assert.deepEqual(commit.written, [1]);
    assert.equal(table.get("b")?.key, 2);
  });

  test("an earlier life of an id that is in memory", async () => {
    const table = newTable();
    table.add(entry("a", 2));
    const commit = new HeldCommit();
    const purged = table.purge([{ id: "a", key: 1 }], commit.write);
    await commit.begin();
    commit.end();
    assert.equal(await purged, 1);
    assert.equal(table.get("a")?.key, 2);
  });

  test("none that has come into memory before its commit begins", async () => {
    const table = newTable();
    const commit = new HeldCommit();
    const purged = table.purge([{ id: "a", key: 1 }], commit.write);
    table.add(entry("a", 1));
    await commit.begin();
    commit.end();
    assert.equal(await purged, 0);
    assert.deepEqual(commit.written, []);
  });

  test("none that has come and gone before its commit begins: it may have ended anew", async () => {
    const table = newTable();
    const commit = new HeldCommit();
    const purged = table.purge([{ id: "a", key: 1 }], commit.write);
    table.add(entry("a", 1));
    table.delete("a");
    await commit.begin();
    commit.end();
    assert.equal(await purged, 0);
    assert.deepEqual(commit.written, []);
  });

  test("nothing, and writes nothing, where all are in memory", async () => {
    const table = newTable();
    table.add(entry("a", 1));
    assert.equal(await table.purge([{ id: "a", key: 1 }], () => assert.fail("there is nothing to write")), 0);
  });
});

describe("a search for an id", () => {
  test("that began before the id was purged finds nothing that counts", async () => {
    const table = newTable();
    const commit = new HeldCommit();
    const read = Promise.withResolvers<string>();
    const search = table.searchFor(
      "a",
      () => read.promise,
      (found) => found,
    );
    const purged = table.purge([{ id: "a", key: 1 }], commit.write);
    await commit.begin();
    read.resolve("the instance as it was");
    assert.equal(await search, "outdated");
    commit.end();
    assert.equal(await purged, 1);
  });

  for (const [end, failure] of [
    ["is over", undefined],
    ["has failed", new Error("fenced")],
  ] as const) {
    test(`that is being purged reads when the purge ${end}`, async () => {
      const table = newTable();
      const commit = new HeldCommit(failure);
      const purged = table.purge([{ id: "a", key: 1 }], commit.write);
      await commit.begin();
      let reads = 0;
      const search = table.searchFor(
        "a",
        async () => ++reads,
        (found) => found,
      );
      await new Promise(setImmediate);
      assert.equal(reads, 0);
      commit.end();
      if (failure === undefined) assert.equal(await purged, 1);
      else await assert.rejects(purged, failure);
      assert.equal(await search, 1);
    });
  }

  test("uses what it found before anything else can happen", async () => {
    const table = newTable();
    const commit = new HeldCommit();
    const purged = table.purge([{ id: "a", key: 1 }], commit.write);
    const search = table.searchFor(
      "a",
      async () => 1,
      (key) => table.add(entry("a", key)),
    );
    await commit.begin();
    commit.end();
    await search;
    assert.equal(await purged, table.get("a") === undefined ? 1 : 0);
  });
});

describe("an instance that left memory", () => {
  const events = '[["S"]]';
  const text = `[[0,0,7,${events.length},${events}]]`;

  /** A table whose store has one instance; returns what its actor is restored from. */
  async function restoredFrom(inRow: string | null): Promise<StoredInstance[]> {
    const restored: StoredInstance[] = [];
    const row = { ...rowOf(entry("a", 1)), history: inRow };
    const history = [{ instance: 1, turn: 0, firstEvent: 0, at: 7, events }];
    const actor = {
      isIdle: true,
      isBusy: false,
      isQueued: false,
      turnText: inRow,
      machine: { state: { waitingCount: 0 } },
      restore: (stored: StoredInstance) => restored.push(stored),
    } as unknown as InstanceActor;
    const table = new InstanceTable({
      shard: 0,
      store: { listUnfinished: async () => [row], loadHistory: async () => history } as unknown as Store,
      definitions: { load: async () => ({}) } as unknown as Definitions,
      newActor: () => actor,
      onBroken: () => assert.fail("nothing is broken"),
      endedMaps: new EndedMaps(),
    });
    const own = entry("a", 1);
    own.attach(actor);
    table.add(own);
    assert.ok(own.evictIfIdle());
    await table.load("a", () => assert.fail("it has not ended"));
    return restored;
  }

  test("with its turns in its row has them there when it comes back, and its next turn does not lose them", async () => {
    const [stored] = await restoredFrom(text);
    assert.deepEqual([stored?.turnText, stored?.history.length], [text, 1]);
  });

  test("with rows of history has rows when it comes back", async () => {
    const [stored] = await restoredFrom(null);
    assert.deepEqual([stored?.turnText, stored?.row, stored?.history.length], [null, "from state", 1]);
  });
});

function rowOf({ id, key, workflow, version, status }: InstanceEntry): Omit<InstanceRow, "history"> {
  const times = { createdAt: 0, updatedAt: 0, wakeAt: null };
  return { id, key, workflow, version, status, ...times } as unknown as Omit<InstanceRow, "history">;
}
