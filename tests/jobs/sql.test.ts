/** Spec §6.4: the job `sql` on real databases. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { readyMadeJobs } from "../../src/jobs.ts";
import { execute, newDatabase } from "../databases/databases.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { JobsRig } from "./rig.ts";

interface Database {
  readonly open: (t: TestContext) => Promise<string>;
  /** Placeholders of two parameters. */
  readonly places: readonly [string, string];
  /** A statement that takes a minute. */
  readonly slow: string;
  /** Counts other sessions that run the slow statement. */
  readonly running?: string;
  readonly missingTable: RegExp;
}

const databases: Readonly<Record<string, Database>> = {
  postgres: {
    open: (t) => newDatabase("postgres", t),
    places: ["$1", "$2"],
    slow: "SELECT pg_sleep(60)",
    running: "SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'",
    missingTable: /SQLSTATE 42P01/,
  },
  mysql: {
    open: (t) => newDatabase("mysql", t),
    places: ["?", "?"],
    slow: "SELECT SLEEP(60)",
    running: "SELECT count(*) AS n FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'",
    missingTable: /SQLSTATE 42S02/,
  },
  sqlite: {
    open: async (t) => `sqlite:${temporaryFile(t)}`,
    places: ["?", "?"],
    slow: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    missingTable: /no such table/,
  },
};

for (const [kind, { open, places, slow, running, missingTable }] of Object.entries(databases)) {
  describe(`6.4 sql on ${kind}`, () => {
    const begin = async (t: TestContext): Promise<{ rig: JobsRig; url: { env: string }; address: string }> => {
      const address = await open(t);
      const env = `HEDDLE_SECRET_URL_${kind.toUpperCase()}`;
      process.env[env] = address;
      t.after(() => void delete process.env[env]);
      return { rig: await JobsRig.start(t, readyMadeJobs()), url: { env }, address };
    };

    test("runs statements in one transaction, and gives the rows of the last, up to a maximum", async (t) => {
      const { rig, url } = await begin(t);
      const insert = { sql: `INSERT INTO item VALUES (${places.join(", ")})`, params: [1, "one"] };
      const created = await rig.run("sql", {
        url,
        statements: [{ sql: "CREATE TABLE item (id INT, name VARCHAR(20))" }, insert],
      });
      assert.deepEqual(created, { rows: [], rowCount: 1, truncated: false });
      const select = { sql: "SELECT id, name FROM item ORDER BY id" };
      const more = { ...insert, params: [2, "two"] };
      assert.deepEqual(await rig.run("sql", { url, statements: [more, select] }), {
        rows: [
          { id: 1, name: "one" },
          { id: 2, name: "two" },
        ],
        rowCount: 2,
        truncated: false,
      });
      assert.deepEqual(await rig.run("sql", { url, statements: [select], rowsMax: 1 }), {
        rows: [{ id: 1, name: "one" }],
        rowCount: 2,
        truncated: true,
      });
      const broken = await rig.fail("sql", {
        url,
        statements: [{ ...insert, params: [3, "x"] }, { sql: "SELECT * FROM no_such_table" }],
      });
      assert.match(broken.message, missingTable);
      assert.deepEqual([broken.type, broken.retryable], ["SqlFailed", false]);
      assert.equal((await rig.run("sql", { url, statements: [select] }))["rowCount"], 2);
      await rig.fail("sql", { url, statements: [insert], readOnly: true });
    });

    test("cancels the statement at the timeout and when it is aborted", async (t) => {
      const { rig, url, address } = await begin(t);
      const statements = [{ sql: slow }];
      const failed = await rig.fail("sql", { url, statements, timeoutSeconds: 1 });
      assert.match(failed.message, /canceled after 1 seconds/);
      assert.ok(!failed.trace.includes(address));
      const run = await rig.begin("sql", { url, statements });
      const count = async (): Promise<number> =>
        running === undefined ? 0 : Number(((await execute(address, running)) as { n: unknown }[])[0]?.n);
      if (running !== undefined) await until(async () => (await count()) === 1, { everyMs: 50 });
      await run.terminate();
      await until(async () => (await count()) === 0, { everyMs: 50 });
    });
  });
}

test("6.4 sql opens a SQLite file by reference only, and allowed hosts only", async (t) => {
  const rig = await JobsRig.start(t, readyMadeJobs({ allowedHosts: ["db.example.org"] }));
  const statements = [{ sql: "SELECT 1" }];
  for (const url of [
    "sqlite:/tmp/a.db",
    "postgresql://u:hidden@127.0.0.1/d",
    "mysql://u:hidden@127.0.0.1/d",
    "oracle:x",
  ]) {
    const { type, retryable, message } = await rig.fail("sql", { url, statements });
    assert.deepEqual([type, retryable, message.includes("hidden")], ["ParamsRefused", false, false]);
  }
});

/** The command line of a process; empty for one that has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** The processes that run statements on SQLite for the worker. */
function programsOf(worker: number): number[] {
  const children = readFileSync(`/proc/${worker}/task/${worker}/children`, "utf8").trim().split(" ");
  return children.map(Number).filter((pid) => commandOf(pid).includes("sqlite-main"));
}

const onLinux = { skip: process.platform !== "linux" && "processes are found in /proc" };

test("6.4 a statement on SQLite ends with its worker, also when that is killed", onLinux, async (t) => {
  const file = temporaryFile(t);
  const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
  const request = {
    url: `sqlite:${file}`,
    statements: ["CREATE TABLE item (id INT)", endless].map((sql) => ({ sql, params: [] })),
    readOnly: false,
    rowsMax: 1,
    bytesMax: 1,
  };
  const script = `
    import { runOnSqlite } from ${JSON.stringify(import.meta.resolve("../../src/jobs/sql-on-sqlite.ts"))};
    void runOnSqlite(${JSON.stringify(request)}, new AbortController().signal);`;
  const worker = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "inherit" });
  t.after(() => worker.kill("SIGKILL"));
  // The table is not committed yet.
  await until(() => existsSync(`${file}-journal`));
  const [program] = programsOf(worker.pid ?? 0);
  assert.ok(program !== undefined);
  worker.kill("SIGKILL");
  await until(() => commandOf(program) === "");
});
