import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import {
  definitionRow,
  finishedRow,
  historyRow,
  instanceRow,
  jobRow,
  outboxRow,
  taskRow,
} from "../contract/store/rows.ts";
import { Owner } from "../contract/store/subject.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const migrations = join(import.meta.dirname, "../../src/stores/sqlite/migrations");

/** Rows as the first version wrote them; the first message to shard 0 had been read and was not deleted yet. */
const rowsOfVersion1 = `
  INSERT INTO shard VALUES (0, 3, 'member-1', 7, 2, 1);
  INSERT INTO instance VALUES (1, 'instance-1', 'nightly', 'v1', 'Running', 1, NULL, 0, 1001, 2001, NULL);
  INSERT INTO finished VALUES (2, 'instance-2', 'nightly', 'v1', 'Success', 1, NULL, 1002, 3002, 1, 0);
  INSERT INTO history VALUES (1, 0, 0, 1000, '[{"turn":0}]'), (1, 1, 2, 1001, '[{"turn":1}]');
  INSERT INTO task VALUES (1, 0, 1, 'task-0', 1, 'Running', 'inline', 1000, NULL, 0, NULL);
  INSERT INTO payload VALUES (1, 1, '"large"');
  INSERT INTO outbox VALUES (0, 0, 4, '{"number":4}'), (0, 0, 5, '{"number":5}'), (0, 0, 6, '{"number":6}');
  INSERT INTO mark VALUES (0, 0, 4);
  INSERT INTO definition VALUES (1, 'nightly', 'v1', '{"version":"v1"}', 1000);
  INSERT INTO job VALUES
    ('a', 'load', '(table: string)', '{"table":"string"}', 'jobs/load.ts#load', 'abc', 1000, 2000, 0);
`;

/** A file with the schema of the first version alone, closed as that one closed it. */
function version1(t: TestContext, rows: string): string {
  const file = join(temporaryFolder(t), "heddle.db");
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec(readFileSync(join(migrations, "0001_initial.sql"), "utf8"));
  db.exec("PRAGMA application_id = 0x4844444c; PRAGMA user_version = 1;");
  db.exec(rows);
  db.close();
  return file;
}

async function opened(t: TestContext, file: string): Promise<SqliteStore> {
  const store = new SqliteStore({ file });
  await store.open();
  t.after(() => store.close());
  return store;
}

describe("a database of schema version 1", () => {
  test("has all its rows after the opening", async (t) => {
    const store = await opened(t, version1(t, rowsOfVersion1));
    assert.deepEqual(await store.loadInstances(0, { after: 0, limit: 10 }), [instanceRow({ key: 1 })]);
    assert.deepEqual(await store.findFinished("instance-2"), finishedRow({ key: 2 }));
    const history = [0, 1].map((turn) => historyRow({ instance: 1, turn }));
    assert.deepEqual(await store.loadHistory([1]), history);
    assert.deepEqual(await store.readTasks(1), [taskRow({ instance: 1, task: 0 })]);
    assert.deepEqual(await store.readPayloads(1, [1]), ['"large"']);
    assert.deepEqual(await store.loadOffsets(0), [{ shard: 0, source: 0, number: 4 }]);
    assert.deepEqual(await store.latestDefinition("nightly"), definitionRow({ version: "v1" }));
    assert.deepEqual(await store.listDefinitions("nightly", { limit: 9 }), [
      { number: 1, ...definitionRow({ version: "v1" }) },
    ]);
    assert.deepEqual(await store.loadJobs(), [jobRow({ id: "a" })]);
    assert.deepEqual((await store.beat("nobody")).shards, [{ shard: 0, epoch: 3, owner: "member-1", released: true }]);
  });

  test("keeps the messages that nobody has read", async (t) => {
    const store = await opened(t, version1(t, rowsOfVersion1));
    const unread = [5, 6].map((number) => outboxRow({ target: 0, number }));
    assert.deepEqual(await store.loadOutbox([0]), unread);
    assert.deepEqual(await store.loadSent(0), [{ target: 0, number: 6 }]);
  });

  test("is owned and written on from where it was", async (t) => {
    const store = await opened(t, version1(t, rowsOfVersion1));
    const claim = await store.claimShard(0, "member-2");
    assert.deepEqual(claim, { epoch: 4, batch: 7, lastKey: 2, clean: true, previousOwner: "member-1" });
    const owner = await Owner.claim(store, 0, "member-2");
    await owner.commit({
      history: [historyRow({ instance: 1, turn: 2 })],
      outbox: [outboxRow({ target: 0, number: 7 })],
      offsets: [{ shard: 0, source: 0, number: 6 }],
    });
    assert.deepEqual(await store.loadOutbox([0]), [outboxRow({ target: 0, number: 7 })]);
  });

  test("keeps the number of shards that its instances were spread over", async (t) => {
    const one = await opened(t, version1(t, rowsOfVersion1));
    assert.equal(await one.settleShardCount(16), 1);
    const claims = [0, 1, 2, 3].map((shard) => `INSERT INTO shard VALUES (${shard}, 1, 'a', 0, 0, 1);`);
    const four = await opened(t, version1(t, claims.join("\n")));
    assert.equal(await four.settleShardCount(16), 4);
  });

  test("that nobody used yet has no number of shards", async (t) => {
    const store = await opened(t, version1(t, ""));
    assert.equal(await store.settleShardCount(16), 16);
  });

  test("is migrated once", async (t) => {
    const file = version1(t, rowsOfVersion1);
    for (let opening = 0; opening < 2; opening++) {
      const store = new SqliteStore({ file });
      await store.open();
      assert.equal((await store.loadOutbox([0])).length, 2);
      await store.close();
    }
    const db = new DatabaseSync(file, { readOnly: true });
    t.after(() => db.close());
    assert.equal(db.prepare("PRAGMA user_version").get()?.["user_version"], 6);
    assert.equal(db.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
  });
});
