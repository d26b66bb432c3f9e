import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { openFile, sqlFiles } from "../../src/stores/sqlite/database.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Migration } from "../../src/stores/sql/sql-files.ts";
import { definitionRow } from "../contract/store/rows.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const initial = sqlFiles.migrations();
const latest = 2;
const addColumn: Migration = {
  version: latest + 1,
  sql: "ALTER TABLE definition ADD COLUMN planted INTEGER NOT NULL DEFAULT 7",
};
const addRow: Migration = {
  version: latest + 2,
  sql: "INSERT INTO setting (name, value) SELECT 'planted', sum(planted) FROM definition",
};

function newFile(t: TestContext): string {
  return join(temporaryFolder(t), "heddle.db");
}

/** A file as this version leaves it, with a definition in it. */
async function writtenFile(t: TestContext): Promise<string> {
  const file = newFile(t);
  const store = new SqliteStore({ file });
  await store.open();
  await store.saveDefinitions([definitionRow({ version: "a" })]);
  await store.close();
  return file;
}

/** Opens and closes the file as a later version with these migrations would. */
function openWith(file: string, migrations: readonly Migration[]): void {
  openFile(file, migrations).close();
}

function read(t: TestContext, file: string, sql: string): unknown[] {
  const db = new DatabaseSync(file, { readOnly: true });
  t.after(() => db.close());
  return db
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}

describe("migrations of a SQLite file", () => {
  test("make a new file, and mark it with their version", async (t) => {
    const file = await writtenFile(t);
    assert.deepEqual(read(t, file, "PRAGMA user_version"), [{ user_version: latest }]);
    assert.deepEqual(read(t, file, "PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
  });

  test("that are newer than the file run in their order, and keep its rows", async (t) => {
    const file = await writtenFile(t);
    openWith(file, [...initial, addColumn, addRow]);
    assert.deepEqual(read(t, file, "PRAGMA user_version"), [{ user_version: addRow.version }]);
    assert.deepEqual(read(t, file, "SELECT version, planted FROM definition"), [{ version: "a", planted: 7 }]);
    assert.deepEqual(read(t, file, "SELECT name, value FROM setting"), [{ name: "planted", value: 7 }]);
  });

  test("run once", async (t) => {
    const file = await writtenFile(t);
    openWith(file, [...initial, addColumn]);
    for (let opening = 0; opening < 2; opening++) openWith(file, [...initial, addColumn, addRow]);
    assert.deepEqual(read(t, file, "SELECT count(*) AS found FROM setting"), [{ found: 1 }]);
  });

  test("run all or none", async (t) => {
    const file = await writtenFile(t);
    const broken: Migration = { version: addColumn.version + 1, sql: "INSERT INTO nowhere VALUES (1)" };
    assert.throws(() => openWith(file, [...initial, addColumn, broken]), /no such table: nowhere/);
    assert.deepEqual(read(t, file, "PRAGMA user_version"), [{ user_version: latest }]);
    const columns = read(t, file, "SELECT name FROM pragma_table_info('definition')");
    assert.ok(!columns.some((column) => (column as { name: string }).name === "planted"));
  });

  test("leave a file that a later version migrated as it is", async (t) => {
    const file = await writtenFile(t);
    openWith(file, [...initial, addColumn]);
    const before = readFileSync(file);
    await assert.rejects(
      new SqliteStore({ file }).open(),
      (error) =>
        hasCode(error, "STORE_NEWER") && /schema version 3, this program knows versions up to 2;/.test(error.message),
    );
    assert.ok(before.equals(readFileSync(file)));
  });

  test("leave a file with a layout from before the first release as it is", async (t) => {
    const file = newFile(t);
    const db = new DatabaseSync(file);
    db.exec("PRAGMA application_id = 0x4844444c; PRAGMA user_version = 1; CREATE TABLE task (instance INTEGER)");
    db.close();
    const before = readFileSync(file);
    await assert.rejects(
      new SqliteStore({ file }).open(),
      (error) =>
        hasCode(error, "STORE_OLDER") &&
        /has schema version 1, .* reads versions from 2 on: .*; run that version, or give another/.test(error.message),
    );
    assert.ok(before.equals(readFileSync(file)));
  });

  test("do not run on a file of this version with an unknown layout, which is refused", async (t) => {
    const file = newFile(t);
    const db = new DatabaseSync(file);
    db.exec("PRAGMA application_id = 0x4844444c; PRAGMA user_version = 2; CREATE TABLE mark (shard INTEGER)");
    db.close();
    await assert.rejects(
      new SqliteStore({ file }).open(),
      (error) =>
        hasCode(error, "STORE_CORRUPT") &&
        /does not have the tables of its schema version.*no such table/.test(error.message),
    );
    assert.deepEqual(read(t, file, "SELECT name FROM sqlite_schema"), [{ name: "mark" }]);
  });
});
