/** Stores that fail, processes that die, and others who come in between: all of it arrives, or nothing. */
import assert from "node:assert/strict";
import { before, describe, type TestContext, test } from "node:test";
import * as fc from "fast-check";
import { EngineError, type ErrorCode, hasCode } from "../../src/base/error.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { DocumentRow, ShardRow, Store } from "../../src/stores/store.ts";
import { isHalfImported } from "../../src/stores/importer.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import { Connection } from "../engine/cluster-connection.ts";
import { documentRow, instanceRow } from "../contract/store/rows.ts";
import { Owner } from "../contract/store/subject.ts";
import { Disk, FaultyStore } from "../runtime/faulty-store.ts";
import { contents, type DrawnContents, fill, lastOwner } from "./random-contents.ts";
import { linesOf, told } from "./transfer-rig.ts";

const shards = 3;

async function memory(): Promise<MemoryStore> {
  const store = new MemoryStore({ delay: () => Promise.resolve() });
  await store.open();
  return store;
}

/** Another connection to it. */
async function again(store: MemoryStore): Promise<MemoryStore> {
  const other = store.connect();
  await other.open();
  return other;
}

async function shardsOf(store: Store): Promise<readonly ShardRow[]> {
  return (await store.heartbeat("")).shards;
}

function rejects(work: Promise<unknown>, code: ErrorCode, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(hasCode(error, code), String(error));
    assert.match(error.message, message);
    return true;
  });
}

/** Lines that come one at a time, with something happening before one of them. */
async function* withEvent(lines: readonly string[], number: number, happens: () => unknown): AsyncGenerator<string> {
  for (const [place, line] of lines.entries()) {
    if (place === number) await happens();
    yield line;
  }
}

describe("an import", () => {
  let lines: readonly string[] = [];
  let drawn: DrawnContents;

  before(async () => {
    const rich = contents.filter(
      ({ instances, messages, documents }) => instances.length > 6 && messages.length > 4 && documents.length > 1,
    );
    [drawn] = fc.sample(rich, { numRuns: 1, seed: 3 }) as [DrawnContents];
    // One that takes several commits.
    const turns = Array.from(
      { length: 2500 },
      (_, at) => ({ kind: "parent-changed", at, text: "", isLarge: false, other: 1 }) as const,
    );
    drawn = { ...drawn, instances: drawn.instances.map((each, place) => (place === 2 ? { ...each, turns } : each)) };
    const store = await memory();
    await fill(store, 2, drawn);
    lines = await linesOf(store);
  });

  async function arrived(store: Store): Promise<void> {
    assert.deepEqual(told(await linesOf(store)), told(lines));
  }

  for (const fault of ["before", "after"] as const) {
    test(`goes on when a commit fails ${fault} it was written`, async () => {
      const disk = new Disk(new MemoryStore());
      const store = new FaultyStore(disk);
      await store.open();
      store.faults.push(fault, fault);
      await importInstances(store, lines, { shards });
      assert.equal(store.faults.length, 0);
      await arrived(store);
      await disk.inner.close();
    });
  }

  test("that dies before any write leaves a store that nobody takes for whole, and that the next import sets right", async () => {
    const writes = ["settleShardCount", "claimShard", "commit", "saveJobs"];
    let calls = 0;
    for (let dying = 1; ; dying++) {
      const store = await memory();
      const connection = new Connection(await again(store));
      calls = 0;
      const dead = Promise.withResolvers<"dead">();
      connection.spares = (method) => {
        if (writes.includes(method) && ++calls === dying) {
          connection.die();
          dead.resolve("dead");
        }
        return false;
      };
      if ((await Promise.race([dead.promise, importInstances(connection.store, lines, { shards })])) !== "dead") break;
      const rows = await shardsOf(store);
      const isWhole = !isHalfImported(rows) && (await store.listInstances({ limit: 1 })).length > 0;
      if (isWhole) await arrived(store);
      else {
        if (isHalfImported(rows)) await rejects(linesOf(store), "STORE_LOCKED", /under way or was interrupted/);
        await importInstances(await again(store), lines, { shards });
        await arrived(store);
      }
    }
    assert.ok(calls > 10, `there were ${calls} moments to die at`);
  });

  test("whose lines fail removes what it has written", async () => {
    const store = await memory();
    const fail = (): never => {
      throw new Error("the file cannot be read");
    };
    for (let number = 0; number < lines.length; number++) {
      await assert.rejects(importInstances(store, withEvent(lines, number, fail)), /the file cannot be read/);
      assert.deepEqual(await store.listInstances({ limit: 1 }), []);
      assert.ok((await shardsOf(store)).every(({ released }) => released));
    }
    await importInstances(store, lines);
    await arrived(store);
  });

  test("into a store that does not come back says what to do, and can be repeated", async (t: TestContext) => {
    const store = await memory();
    const connection = new Connection(await again(store));
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const failing = importInstances(
      connection.store,
      withEvent(lines, 8, () => connection.fail()),
    );
    const state = { isOver: false };
    const outcome = rejects(failing, "STORE_UNAVAILABLE", /could not be removed.*import into it again/).finally(
      () => (state.isOver = true),
    );
    while (!state.isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      t.mock.timers.tick(1000);
    }
    await outcome;
    t.mock.timers.reset();
    assert.ok(isHalfImported(await shardsOf(store)));
    await importInstances(store, lines);
    await arrived(store);
  });

  test("leaves a store that is not empty as it is", async () => {
    const store = await memory();
    await store.settleShardCount(2);
    const owner = await Owner.claim(store, 1, "a");
    await owner.commit({ instances: [instanceRow({ key: 2 ** 40 + 1 })] });
    const before = await shardsOf(store);
    await rejects(importInstances(store, lines), "OPTION_INVALID", /instances of its own/);
    assert.deepEqual(await shardsOf(store), before);
    await importInstances(await memory(), lines);
    const whole = await memory();
    await importInstances(whole, lines);
    await rejects(importInstances(whole, lines), "OPTION_INVALID", /instances of its own/);
    await arrived(whole);
  });

  test("gives the shards back if somebody was there between its look and its claims", async () => {
    const disk = new Disk(new MemoryStore());
    const store = new FaultyStore(disk);
    await store.open();
    await store.settleShardCount(2);
    await (await Owner.claim(store, 0, "a")).commit({}, { released: true });
    await Owner.claim(store, 1, "b");
    store.beforeRead = async (what) => {
      if (what !== "claimShard") return;
      store.beforeRead = undefined;
      await (
        await Owner.claim(disk.inner, 0, "c")
      ).commit({ instances: [instanceRow({ key: 1 })] }, { released: true });
    };
    await rejects(importInstances(store, lines), "OPTION_INVALID", /instances of its own/);
    const left = (await shardsOf(store)).map(({ owner, released }) => `${owner} ${released ? "released" : "lost"}`);
    assert.deepEqual(left, ["c released", "b lost"]);
    assert.equal((await store.listInstances({ limit: 10 })).length, 1);
    await disk.inner.close();
  });

  test("gives the shards back to an engine that joins while they are claimed", async () => {
    const store = await memory();
    const connection = new Connection(await again(store));
    connection.spares = (method) => {
      if (method === "claimShard") void store.join({ id: "a:1", address: "a" });
      return false;
    };
    await rejects(importInstances(connection.store, lines, { shards }), "STORE_LOCKED", /engines run on it \(a:1\)/);
    assert.ok((await shardsOf(store)).every(({ released }) => released));
  });

  test("is refused with another number of shards than the store has", async () => {
    const store = await memory();
    await store.settleShardCount(2);
    await rejects(importInstances(store, lines, { shards: 3 }), "OPTION_INVALID", /2 shards, which cannot become 3/);
    await importInstances(store, lines);
    await arrived(store);
  });

  test("settles no number of shards that engines would refuse", async () => {
    for (const wrong of [0, 1.5, 9000, "3" as unknown as number]) {
      await rejects(importInstances(await memory(), lines, { shards: wrong }), "OPTION_INVALID", /from 1 to 8192, got/);
    }
    const store = new SqliteStore({ file: ":memory:" });
    await store.open();
    await rejects(importInstances(store, lines, { shards: 2 }), "OPTION_INVALID", /must be 1, because/);
    await importInstances(store, lines, { shards: 1 });
    await arrived(store);
    await store.close();
  });

  test("that is complete never looks as if it were not, whoever looks after it", async () => {
    const store = await memory();
    const claimShard = store.claimShard.bind(store);
    // It ends right after the last commit of the import.
    store.claimShard = async (shard, owner) => {
      if (owner === lastOwner) throw new EngineError("STORE_DATA", "this is where it ends");
      return await claimShard(shard, owner);
    };
    await rejects(importInstances(store, lines, { shards }), "STORE_DATA", /where it ends/);
    store.claimShard = claimShard;
    const given = await linesOf(store);
    assert.match(given[0] as string, /"owner":"","released":true/);
    const other = await memory();
    await importInstances(other, given, { shards });
    assert.ok(!isHalfImported(await shardsOf(other)));
    await arrived(other);
  });

  test("is refused while members are registered, and so is an export", async () => {
    const store = await memory();
    await store.join({ id: "a:1", address: "a" });
    await rejects(importInstances(store, lines), "STORE_LOCKED", /imported into while engines run on it \(a:1\)/);
    await rejects(linesOf(store), "STORE_LOCKED", /exported while engines run on it \(a:1\)/);
    await store.removeMember("a:1");
    await importInstances(store, lines);
    await arrived(store);
  });

  test("stops for an engine that has taken over, and leaves alone what that has", async () => {
    const store = await memory();
    const number = lines.length - 1;
    const takeOver = async (): Promise<void> => {
      for (let shard = 0; shard < shards; shard++) {
        const owner = await Owner.claim(store, shard, "engine");
        if (shard === 0) await owner.commit({ instances: [instanceRow({ key: 900, id: "theirs" })] });
      }
    };
    await rejects(
      importInstances(store, withEvent(lines, number, takeOver), { shards }),
      "STORE_LOCKED",
      /has taken over/,
    );
    assert.ok((await store.listInstances({ limit: 100 })).some(({ id }) => id === "theirs"));
  });

  test("stops for another import, and the other one is whole", async () => {
    const store = await memory();
    let second: Promise<unknown> = Promise.resolve();
    const begin = async (): Promise<void> => {
      second = importInstances(await again(store), lines, { shards });
      await second;
    };
    const first = importInstances(store, withEvent(lines, 10, begin), { shards });
    await rejects(first, "STORE_LOCKED", /has taken over/);
    await second;
    await arrived(store);
  });

  test("numbers on where messages were sent before", async () => {
    const store = await memory();
    await store.settleShardCount(shards);
    const others = Array.from({ length: shards }, (_, other) => other);
    for (const source of others) {
      const outbox = others.map((target) => ({ source, target, number: 5 + source, body: "" }));
      await (await Owner.claim(store, source, "a")).commit({ outbox }, { released: true });
    }
    for (const shard of others) {
      const offsets = others.map((source) => ({ shard, source, number: 5 + source }));
      await (await Owner.claim(store, shard, "a")).commit({ offsets }, { released: true });
    }
    await importInstances(store, lines);
    await arrived(store);
    for (const { source, number } of await store.loadOutbox([0, 1, 2])) assert.ok(number > 5 + source);
  });

  test("gives no key a second time", async () => {
    const store = await memory();
    const owner = await Owner.claim(store, 0, "a");
    await owner.commit({}, { released: true, lastKey: 77 });
    await importInstances(store, lines);
    for (const { key } of await store.listInstances({ limit: 100 })) assert.ok(key > 77);
  });

  test("does not give the name of a workflow to an older version", async () => {
    const store = await memory();
    const definitions = lines.flatMap((line) => {
      const parsed = JSON.parse(line) as { kind: string; rows: { name: string; version: string; spec: string }[] };
      return parsed.kind === "definitions" ? parsed.rows : [];
    });
    const row = definitions.at(-1);
    assert.ok(row !== undefined);
    const rows = [row, { ...row, version: "newer" }].map((each) => ({ ...each, createdAt: 1 }));
    await store.saveDefinitions(rows);
    await rejects(importInstances(store, lines), "OPTION_INVALID", /versions of workflow "[^]*" of its own/);
    assert.equal((await store.findLatestDefinition(row.name))?.version, "newer");
    assert.deepEqual(await store.listInstances({ limit: 1 }), []);
  });

  test("replaces documents of the same name", async () => {
    const store = await memory();
    const documents = lines.flatMap((line) => {
      const parsed = JSON.parse(line) as { kind: string; rows: DocumentRow[] };
      return parsed.kind === "documents" ? parsed.rows : [];
    });
    assert.ok(documents.length > 1);
    for (const { kind, name } of documents) await store.saveDocument(documentRow({ kind, name, body: "older" }));
    await importInstances(store, lines);
    for (const row of documents)
      assert.deepEqual(await store.findDocument(row.kind, row.name), { ...row, revision: 2 });
  });

  test("takes lines of a program that knew no documents", async () => {
    const empty = await linesOf(await memory());
    const [header = "", end = ""] = empty;
    const { rows, ...rest } = JSON.parse(end) as { rows: { documents?: number } };
    delete rows.documents;
    await importInstances(await memory(), [header, JSON.stringify({ ...rest, rows })]);
  });

  test("is not taken for done if the store does not give back what was written", async () => {
    const disk = new Disk(new MemoryStore());
    const store = new FaultyStore(disk);
    await store.open();
    const listHistory = store.listHistory;
    store.listHistory = async (key, page) => (await listHistory(key, page)).map((row) => ({ ...row, at: row.at + 1 }));
    await rejects(importInstances(store, lines), "STORE_CORRUPT", /does not come back/);
    assert.deepEqual(await store.listInstances({ limit: 1 }), []);
    await disk.inner.close();
  });
});

describe("an export", () => {
  test("has no last line if an engine was started on the store meanwhile", async () => {
    const store = await memory();
    const [drawn] = fc.sample(contents, { numRuns: 1, seed: 3 }) as [DrawnContents];
    await fill(store, 2, { ...drawn, released: true });
    const lines: string[] = [];
    const failed = (async () => {
      for await (const line of exportInstances(store)) {
        lines.push(line);
        if (lines.length === 3) await (await Owner.claim(store, 0, "engine")).commit({}, { released: true });
      }
    })();
    await rejects(failed, "STORE_LOCKED", /was started on the store meanwhile/);
    await rejects(importInstances(await memory(), lines), "OPTION_INVALID", /without its last line/);
  });

  test("goes on when reads fail for a moment", async () => {
    const disk = new Disk(new MemoryStore());
    const store = new FaultyStore(disk);
    await store.open();
    const [drawn] = fc.sample(contents, { numRuns: 1, seed: 3 }) as [DrawnContents];
    await fill(disk.inner, 2, drawn);
    let reads = 0;
    store.beforeRead = async () => {
      if (++reads % 7 === 0) throw new EngineError("STORE_UNAVAILABLE", "for a moment");
    };
    assert.deepEqual(await linesOf(store), await linesOf(disk.inner));
    await disk.inner.close();
  });

  test("of a store that was never used says so", async () => {
    const lines = await linesOf(await memory());
    assert.equal(lines.length, 2);
    assert.match(lines[0] as string, /"shards":0/);
    const counts = await importInstances(await memory(), lines);
    assert.equal(counts.finished + counts.unfinished + counts.messages, 0);
  });
});
