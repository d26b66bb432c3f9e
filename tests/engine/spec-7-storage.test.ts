/** Spec §7.1: which database is a matter of configuration, and the same program runs on each. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { silentLogger } from "../../src/base/logger.ts";
import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { storage, type StorageConfig } from "../../src/storage.ts";
import { MysqlStore } from "../../src/stores/mysql/mysql-store.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const double = defineJob("double", async ({ n }: { n: number }) => n * 2);
const workflow = new WorkflowBuilder()
  .withName("doubling")
  .withTask(new TaskBuilder("a").withJobFunction(double, { n: 21 }))
  .build();

describe("7.1 the store is chosen by its address", () => {
  const cases: readonly (readonly [string | StorageConfig, new (...args: never[]) => unknown])[] = [
    ["sqlite:./data/heddle.db", SqliteStore],
    ["postgresql://user:secret@db.example.com/heddle", PostgresStore],
    ["postgres://db.example.com/heddle", PostgresStore],
    ["mysql://user:secret@db.example.com/heddle", MysqlStore],
    ["mariadb://user:secret@db.example.com:3307/heddle", MysqlStore],
    [{ databaseType: "sqlite", url: "./heddle.db" }, SqliteStore],
    [{ databaseType: "postgresql", url: "postgresql://db.example.com/heddle" }, PostgresStore],
    [{ databaseType: "mysql", url: "mysql://user@db.example.com/heddle" }, MysqlStore],
  ];
  for (const [config, kind] of cases) {
    test(JSON.stringify(config), async () => {
      assert.ok((await storage(config)) instanceof kind);
    });
  }

  test("HEDDLE_STORAGE is asked when nothing is said, and without it there is a file", async (t) => {
    const before = process.env["HEDDLE_STORAGE"];
    t.after(() => {
      if (before === undefined) delete process.env["HEDDLE_STORAGE"];
      else process.env["HEDDLE_STORAGE"] = before;
    });
    process.env["HEDDLE_STORAGE"] = "postgresql://db.example.com/heddle";
    assert.ok((await storage()) instanceof PostgresStore);
    delete process.env["HEDDLE_STORAGE"];
    assert.ok((await storage()) instanceof SqliteStore);
  });
});

describe("7.1 an address that makes no sense is refused in one sentence, without its password", () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [
      "mssql://sa:secret@db/heddle",
      /^The storage must begin with sqlite:, postgresql:\/\/ or mysql:\/\/, and begins with "mssql"\.$/,
    ],
    ["heddle.db", /must begin with sqlite:, .* begins with "heddle"/],
    [
      { databaseType: "oracle", url: "x" },
      /storage\.databaseType must be "sqlite", "postgresql" or "mysql", got "oracle"/,
    ],
    [{ databaseType: "mysql", url: "postgresql://u:secret@h/d" }, /storage\.url must be a mysql:\/\/ address/],
  ];
  for (const [config, message] of cases) {
    test(String(message), async () => {
      await assert.rejects(storage(config as string), (error: Error & { code?: string }) => {
        assert.equal(error.code, "OPTION_INVALID");
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    });
  }
});

describe("7.1 one program runs on every database", () => {
  const addresses: Readonly<Record<string, (t: Parameters<typeof newDatabase>[1]) => Promise<string>>> = {
    SQLite: async (t) => {
      const folder = temporaryFolder(t);
      return `sqlite:${join(folder, "heddle.db")}`;
    },
    PostgreSQL: (t) => newDatabase("postgres", t),
    MySQL: (t) => newDatabase("mysql", t),
  };
  for (const [name, addressOf] of Object.entries(addresses)) {
    test(name, async (t) => {
      const address = await addressOf({ after: (work) => t.after(work) });
      const start = async (): Promise<Engine> => {
        const engine = new Engine({ storage: await storage(address), jobs: [double], logger: silentLogger });
        await engine.start();
        return engine;
      };
      const first = await start();
      assert.deepEqual(await (await first.submitWorkflow(workflow, { instanceId: "x" })).result(), { a: 42 });
      await first.stop();

      const second = await start();
      assert.equal((await second.getWorkflowInstanceStatus("x")).status, "Success");
      await second.stop();
    });
  }
});
