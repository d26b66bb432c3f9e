import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import type { ErrorCode } from "../../src/base/error.ts";
import { sqlite } from "../../src/sqlite.ts";
import { openFile } from "../../src/stores/sqlite/database.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { documentRow, historyRow } from "../contract/store/rows.ts";
import { Owner } from "../contract/store/subject.ts";
import { Child } from "./child.ts";
import { fill, withSmallDisk } from "./small-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A database with some rows in it, closed. */
async function database(t: TestContext, turns = 200): Promise<string> {
  const file = join(temporaryFolder(t), "heddle.db");
  const store = new SqliteStore({ file });
  await store.open();
  const history = Array.from({ length: turns }, (_, turn) =>
    historyRow({ instance: 1, turn, events: JSON.stringify("x".repeat(500)) }),
  );
  await (await Owner.claim(store)).commit({ history });
  await store.close();
  return file;
}

async function opened(t: TestContext, file: string): Promise<SqliteStore> {
  const store = new SqliteStore({ file });
  await store.open();
  t.after(() => store.close());
  return store;
}

/** Refused with that code, in one sentence that names the file. */
async function assertRefused(file: string, code: ErrorCode, words: RegExp): Promise<void> {
  await assert.rejects(new SqliteStore({ file }).open(), (error) => {
    assert.ok(hasCode(error, code), `${code}, got ${String(error)}`);
    assert.ok(error.message.includes(file), `names the file: ${error.message}`);
    assert.match(error.message, words);
    assert.match(error.message, /^[a-z][^\n]*[^.]$/);
    return true;
  });
}

describe("opening a database file", () => {
  test("missing folders are made", async (t) => {
    const file = join(temporaryFolder(t), "a", "b", "heddle.db");
    await opened(t, file);
    assert.ok(existsSync(file));
  });

  test("a commit is on disk when it returns: not even a power cut takes it back", async (t) => {
    const db = openFile(await database(t));
    const read = (setting: string): unknown => Object.values(db.prepare(`PRAGMA ${setting}`).get() ?? {})[0];
    assert.deepEqual(["journal_mode", "synchronous", "fullfsync"].map(read), ["wal", 2, 1]);
    db.close();
  });

  test("closing leaves the one file and its empty lock", async (t) => {
    const file = await database(t);
    assert.ok(!existsSync(`${file}-wal`));
    assert.ok(!existsSync(`${file}-owner`));
    assert.equal(readFileSync(`${file}-lock`).length, 0);
  });

  test("an empty file is taken as a new database", async (t) => {
    const file = join(temporaryFolder(t), "heddle.db");
    writeFileSync(file, "");
    await (await opened(t, file)).claimShard(0, "a");
  });

  test("the public door gives such a store", async (t) => {
    const store = sqlite(join(temporaryFolder(t), "heddle.db"));
    await store.open();
    await store.close();
  });

  test("an empty name is refused", () => {
    assert.throws(
      () => new SqliteStore({ file: "" }),
      (error) => hasCode(error, "OPTION_INVALID"),
    );
  });

  test("a folder is refused", async (t) => {
    await assertRefused(temporaryFolder(t), "OPTION_INVALID", /is a folder/);
  });

  test("a path through a file is refused", async (t) => {
    const file = await database(t);
    await assertRefused(join(file, "heddle.db"), "OPTION_INVALID", /leads through a file/);
  });

  test("a newer schema is refused, and nothing is changed", async (t) => {
    const file = await database(t);
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 999");
    db.close();
    const before = readFileSync(file);
    await assertRefused(
      file,
      "STORE_NEWER",
      /schema version 999, this program knows versions up to 2; run a newer version/,
    );
    assert.ok(before.equals(readFileSync(file)));
  });

  test("a database that another program is writing is refused", async (t) => {
    const file = await database(t);
    const other = new DatabaseSync(file);
    t.after(() => other.close());
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    await assertRefused(file, "STORE_LOCKED", /in use by another program/);
  });
});

describe("a file that is damaged or not ours", () => {
  test("random bytes", async (t) => {
    const file = join(temporaryFolder(t), "heddle.db");
    writeFileSync(file, Buffer.alloc(10_000, "not a database at all "));
    await assertRefused(file, "STORE_CORRUPT", /damaged or is no database; restore it/);
  });

  test("a short text", async (t) => {
    const file = join(temporaryFolder(t), "heddle.db");
    writeFileSync(file, "hello");
    await assertRefused(file, "STORE_CORRUPT", /damaged or is no database/);
  });

  test("cut off in the middle", async (t) => {
    const file = await database(t);
    truncateSync(file, 3 * 4096 + 100);
    await assertRefused(file, "STORE_CORRUPT", /damaged or is no database/);
  });

  test("a damaged first page", async (t) => {
    const file = await database(t);
    const bytes = readFileSync(file);
    bytes.fill(0xff, 100, 4096);
    writeFileSync(file, bytes);
    await assertRefused(file, "STORE_CORRUPT", /damaged or is no database/);
  });

  test("a missing table", async (t) => {
    const file = await database(t);
    const db = new DatabaseSync(file);
    db.exec("DROP TABLE history");
    db.close();
    await assertRefused(file, "STORE_CORRUPT", /tables/);
  });

  test("a damaged lock file", async (t) => {
    const file = await database(t);
    writeFileSync(`${file}-lock`, Buffer.alloc(10_000, "not a database at all "));
    await assertRefused(file, "STORE_CORRUPT", /lock file .* is damaged; remove it/);
  });

  test("the database of another program", async (t) => {
    const file = join(temporaryFolder(t), "other.db");
    const db = new DatabaseSync(file);
    db.exec("CREATE TABLE customer (id INTEGER PRIMARY KEY)");
    db.close();
    const before = readFileSync(file);
    await assertRefused(file, "STORE_CORRUPT", /another program/);
    assert.ok(before.equals(readFileSync(file)));
  });

  test("damaged pages that the opening does not read are found by the reader", async (t) => {
    const file = await database(t, 2_000);
    const bytes = readFileSync(file);
    bytes.fill(0xff, 40 * 4096);
    writeFileSync(file, bytes);
    const store = await opened(t, file);
    await assert.rejects(store.loadHistory([1]), (error) => hasCode(error, "STORE_CORRUPT"));
  });
});

describe("a file or folder that cannot be written", { skip: process.platform === "win32" && "file modes" }, () => {
  async function openUnprivileged(t: TestContext, file: string): Promise<{ code: string; message?: string }> {
    const said = await new Child(t, "open-unprivileged.ts", file).line();
    return JSON.parse(said ?? "null") as { code: string; message?: string };
  }

  async function assertReadOnly(t: TestContext, file: string): Promise<void> {
    const { code, message } = await openUnprivileged(t, file);
    assert.equal(code, "STORE_READ_ONLY", message);
    assert.match(message ?? "", /cannot be written; give this user write access/);
  }

  test("all is well where it can", async (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o777);
    assert.equal((await openUnprivileged(t, join(folder, "heddle.db"))).code, "opened");
  });

  test("the folder", async (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o555);
    await assertReadOnly(t, join(folder, "heddle.db"));
    await assertReadOnly(t, join(folder, "new", "heddle.db"));
  });

  test("the folder of a database", async (t) => {
    const file = await database(t);
    chmodSync(file, 0o666);
    chmodSync(`${file}-lock`, 0o666);
    chmodSync(dirname(file), 0o555);
    await assertReadOnly(t, file);
  });

  test("the file", async (t) => {
    const file = await database(t);
    chmodSync(dirname(file), 0o777);
    chmodSync(`${file}-lock`, 0o666);
    chmodSync(file, 0o444);
    await assertReadOnly(t, file);
  });

  test("its lock", async (t) => {
    const file = await database(t);
    chmodSync(dirname(file), 0o777);
    chmodSync(file, 0o666);
    chmodSync(`${file}-lock`, 0o444);
    await assertReadOnly(t, file);
  });
});

describe("a full disk", () => {
  for (const kilobytes of [0, 4, 16, 48]) {
    test(`opening with ${kilobytes} KB left`, (t) =>
      withSmallDisk(t, async (disk) => {
        const free = fill(disk, kilobytes * 1024);
        const file = join(disk, "heddle.db");
        await assertRefused(file, "STORE_FULL", /is full; free some space/);
        free();
        const store = new SqliteStore({ file });
        await store.open();
        await store.close();
      }));
  }

  test("a commit is refused as unavailable, and the same batch lands once there is space", (t) =>
    withSmallDisk(t, async (disk) => {
      const store = new SqliteStore({ file: join(disk, "heddle.db") });
      await store.open();
      try {
        await fillAndFree(store, disk);
      } finally {
        await store.close();
      }
    }));
});

async function fillAndFree(store: SqliteStore, disk: string): Promise<void> {
  const owner = await Owner.claim(store);
  await owner.commit({ history: [historyRow({ instance: 1, turn: 0 })] });
  const free = fill(disk, 64 * 1024);
  const batch = owner.next({ history: [historyRow({ instance: 1, turn: 1, events: "x".repeat(300_000) })] });
  const saysFull = (error: unknown) =>
    hasCode(error, "STORE_UNAVAILABLE") && /full; free some space/.test(error.message);
  await assert.rejects(store.commit(batch), saysFull);
  await assert.rejects(store.commit(batch), saysFull);
  assert.equal((await store.loadHistory([1])).length, 1);
  free();
  await store.commit(batch);
  assert.equal((await store.loadHistory([1])).length, 2);
}

describe("one owner of a file", () => {
  test("a second store of the same process is refused, also under another name", async (t) => {
    const file = await database(t);
    await opened(t, file);
    await assertRefused(file, "STORE_LOCKED", /another engine of this process/);
    const link = join(dirname(file), "link.db");
    symlinkSync(file, link);
    await assert.rejects(new SqliteStore({ file: link }).open(), (error) => hasCode(error, "STORE_LOCKED"));
  });

  test("a refused store leaves the holder's lock alone", async (t) => {
    const file = await database(t);
    await opened(t, file);
    await assertRefused(file, "STORE_LOCKED", /in use/);
    await assertRefused(file, "STORE_LOCKED", /in use/);
  });

  test("closing gives it free", async (t) => {
    const file = await database(t);
    const first = await opened(t, file);
    await first.close();
    await opened(t, file);
  });

  test("a failed opening gives it free", async (t) => {
    const file = join(temporaryFolder(t), "heddle.db");
    writeFileSync(file, "hello");
    await assertRefused(file, "STORE_CORRUPT", /damaged/);
    writeFileSync(file, "");
    await opened(t, file);
  });

  test("a store that nothing refers to any more still holds it", async (t) => {
    const file = await database(t);
    const child = new Child(t, "hold.ts", file);
    assert.equal(await child.line(), "held");
    child.say("collect");
    assert.equal(await child.line(), "collected");
    await assertRefused(file, "STORE_LOCKED", /in use by process/);
  });

  test("another process is named, holds it while it is stopped, and gives it free when it is killed", async (t) => {
    const file = await database(t);
    const child = new Child(t, "hold.ts", file);
    assert.equal(await child.line(), "held");
    await assertRefused(file, "STORE_LOCKED", new RegExp(`in use by process ${child.pid};`));
    child.stop();
    await assertRefused(file, "STORE_LOCKED", /in use by process/);
    await child.kill();
    await opened(t, file);
  });
});

describe("a commit that the database does not take", () => {
  test("while another program writes it is unavailable, and the same batch lands afterwards", async (t) => {
    const file = await database(t);
    const store = await opened(t, file);
    const owner = await Owner.claim(store);
    const other = new DatabaseSync(file);
    t.after(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    const batch = owner.next({ history: [historyRow({ instance: 2, turn: 0 })] });
    await assert.rejects(store.commit(batch), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    other.exec("ROLLBACK");
    await store.commit(batch);
    assert.equal((await store.loadHistory([2])).length, 1);
  });

  test("a value that fits no column is STORE_DATA, and none of its batch stays", async (t) => {
    const store = await opened(t, await database(t));
    const owner = await Owner.claim(store);
    const good = historyRow({ instance: 2, turn: 0 });
    for (const at of [1.5, Number.NaN, {} as number]) {
      const bad = historyRow({ instance: 3, turn: 0, at });
      await assert.rejects(owner.commit({ history: [good, bad] }), (error) => hasCode(error, "STORE_DATA"));
    }
    assert.deepEqual(await store.loadHistory([2, 3]), []);
    await owner.commit({ history: [good] });
  });
});

describe("lines that the database does not take", () => {
  test("are STORE_DATA, and none of their call stays", async (t) => {
    const store = await opened(t, await database(t));
    for (const at of [1.5, Number.NaN, {} as number]) {
      const lines = [0, at].map((each) => ({ topic: "a", at: each, body: "" }));
      await assert.rejects(store.appendLines(lines), (error) => hasCode(error, "STORE_DATA"));
    }
    assert.deepEqual(await store.listLines("a", { limit: 9 }), []);
  });

  test("while another program writes are unavailable, as is a document", async (t) => {
    const file = await database(t);
    const store = await opened(t, file);
    await store.appendLines([{ topic: "a", at: 0, body: "" }]);
    const other = new DatabaseSync(file);
    t.after(() => other.close());
    other.exec("BEGIN IMMEDIATE");
    for (const write of [
      () => store.appendLines([{ topic: "a", at: 0, body: "" }]),
      () => store.deleteLines("a", 1),
      () => store.saveDocument(documentRow({ name: "a" })),
      () => store.deleteDocument("token", "a", 1),
    ]) {
      await assert.rejects(write(), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    }
    other.exec("ROLLBACK");
    assert.equal(await store.saveDocument(documentRow({ name: "a" })), true);
  });
});

describe("kill -9 while committing", () => {
  test("nothing acknowledged is lost, and no batch is there by half", async (t) => {
    const file = join(temporaryFolder(t), "heddle.db");
    for (const lines of [1, 40, 150, 300]) {
      const child = new Child(t, "commit-on.ts", file);
      let acknowledged = 0;
      for (let i = 0; i < lines; i++) acknowledged = Number(await child.line());
      await child.kill();
      for (let line = await child.line(); line !== undefined; line = await child.line()) acknowledged = Number(line);

      const store = await opened(t, file);
      const batch = (await store.claimShard(0, "parent"))?.lastBatch ?? 0;
      const turns = (await store.loadHistory([1])).map((row) => row.turn);
      await store.close();
      assert.ok(batch >= acknowledged, `batch ${batch} is there, ${acknowledged} was acknowledged`);
      assert.deepEqual(
        turns,
        Array.from({ length: batch * 20 }, (_, i) => i + 20),
      );
    }
  });
});
