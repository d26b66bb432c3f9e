import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import mysql2 from "mysql2";
import { hasCode, messageOf } from "../../src/base/error.ts";
import type { ErrorCode } from "../../src/base/error.ts";
import { mysql } from "../../src/mysql.ts";
import { parseAddress } from "../../src/stores/mysql/address.ts";
import { Connection } from "../../src/stores/mysql/connection.ts";
import { migrate, sessionSettings } from "../../src/stores/mysql/database.ts";
import { readFacts, suitableServer } from "../../src/stores/mysql/server.ts";
import { sqlFiles } from "../../src/stores/mysql/statement.ts";
import type { Migration } from "../../src/stores/sql/sql-files.ts";
import { MysqlStore } from "../../src/stores/mysql/mysql-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { definitionRow } from "../contract/store/rows.ts";
import { execute, newDatabase, serverUrl, urlOf } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { newSession } from "../databases/session.ts";
import { newMysqlUser } from "./mysql-user.ts";

const password = "pa55-w0rd";

/** One sentence that says where and what to do, and the password is nowhere in the error. */
function assertClear(error: unknown, url: string, expected: { code: ErrorCode; words: RegExp }): true {
  assert.ok(hasCode(error, expected.code), `${expected.code}, got ${inspect(error)}`);
  assert.match(error.message, expected.words);
  assert.match(error.message, /^[a-z][^\n]*[^.]$/);
  const { host, pathname } = new URL(url);
  assert.ok(error.message.includes(`${pathname.slice(1)} on ${host}`), `names the place: ${error.message}`);
  const shown = inspect(error, { depth: null, showHidden: true });
  for (const secret of [password, decodeURIComponent(new URL(url).password)]) {
    if (secret !== "") assert.ok(!shown.includes(secret), "hides the password");
  }
  return true;
}

async function assertRefused(url: string, code: ErrorCode, words: RegExp): Promise<void> {
  await assert.rejects(mysql(url).open(), (error) => assertClear(error, url, { code, words }));
}

/** What the refusal says is to be run. */
async function adviceOf(url: string): Promise<string> {
  const refusal = await mysql(url)
    .open()
    .catch((error: unknown) => messageOf(error));
  return String(refusal).replace(/^.* run (.*) \([^(]*\)$/, "$1");
}

/** Runs the migrations that a later program would have. */
async function migrateWith(url: string, planted: Migration): Promise<void> {
  const address = parseAddress(url);
  const connection = await Connection.open(mysql2, address, 10_000);
  try {
    const server = suitableServer(await readFacts(connection, 10_000), address);
    await connection.send(sessionSettings, 10_000);
    await migrate({ connection, address, server, limitMs: 10_000 }, [...sqlFiles.migrations(), planted]);
  } finally {
    await connection.end();
  }
}

async function opened(t: TestContext, url: string): Promise<Store> {
  const store = mysql(url);
  await store.open();
  t.after(() => store.close());
  return store;
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

describe("the options of a MySQL store", () => {
  test("have their limits", () => {
    const url = "mysql://user@localhost/heddle";
    for (const connections of [2, 0, -1, 3.5, Number.NaN]) {
      assert.throws(
        () => mysql(url, { connections }),
        (error) => hasCode(error, "OPTION_INVALID"),
      );
    }
    assert.equal(mysql(url, { connections: 3 }).clusters, "always");
  });
});

describe("opening a MySQL database that cannot be reached", () => {
  test("no server listens there", async () => {
    for (const host of ["127.0.0.1", "localhost"]) {
      await assertRefused(
        `mysql://user:${password}@${host}:1/heddle`,
        "STORE_UNAVAILABLE",
        /no MySQL or MariaDB server is reached for .*; start it or correct the URL \(.*ECONNREFUSED/,
      );
    }
  });

  test("there is no such host", async () => {
    const url = `mysql://user:${password}@no-such-host.invalid:3306/heddle`;
    await assertRefused(url, "STORE_UNAVAILABLE", /heddle on no-such-host\.invalid:3306; start it or correct the URL/);
  });

  test("there is no such socket", async () => {
    const url = `mysql://user:${password}@localhost/heddle?socket=/no/such/socket`;
    await assert.rejects(mysql(url).open(), (error) => {
      return hasCode(error, "STORE_UNAVAILABLE") && /heddle on \/no\/such\/socket/.test(error.message);
    });
  });

  test("the server does not answer", async (t) => {
    const proxy = await Proxy.to(await newDatabase("mysql", t));
    t.after(() => proxy.close());
    proxy.hold("answers");
    const store = new MysqlStore({ url: proxy.url, limits: { workMs: 200, heartbeatMs: 200 } });
    await assert.rejects(store.open(), (error) =>
      assertClear(error, proxy.url, {
        code: "STORE_UNAVAILABLE",
        words: /is there but does not answer; check whether/,
      }),
    );
  });

  test("the server hangs up", async (t) => {
    const proxy = await Proxy.to(await newDatabase("mysql", t));
    t.after(() => proxy.close());
    void proxy.loseAnswer();
    await assertRefused(proxy.url, "STORE_UNAVAILABLE", /no MySQL or MariaDB server is reached/);
  });

  test("the server's certificate is nobody's whom we trust", async (t) => {
    const url = `${await newDatabase("mysql", t)}?ssl-mode=VERIFY_IDENTITY`;
    await assertRefused(url, "STORE_UNAVAILABLE", /correct the URL \(.*(secure connection|certificate)/i);
  });
});

describe("opening a MySQL database that does not let one in", () => {
  test("wrong password, no password, unknown user", async (t) => {
    const { url, name } = await newMysqlUser(t, await newDatabase("mysql", t));
    const as = (parts: { username?: string; password: string }): string => Object.assign(new URL(url), parts).href;
    await assertRefused(as({ password }), "STORE_DENIED", new RegExp(`does not let the user ${name} in`));
    await assertRefused(as({ password: "" }), "STORE_DENIED", /correct the user name or the password/);
    await assertRefused(as({ username: "nobody", password }), "STORE_DENIED", /does not let the user nobody in/);
  });

  test("there is no such database", async () => {
    const url = urlOf(serverUrl("mysql"), "no_such_database");
    await assertRefused(url, "STORE_DENIED", /make it with CREATE DATABASE `no_such_database`/);
  });

  test("the user may not see the database, until that is granted", async (t) => {
    const url = await newDatabase("mysql", t);
    const user = await newMysqlUser(t, url);
    await assertRefused(user.url, "STORE_DENIED", /lacks a right on the database .*; run GRANT/);
    await execute(serverUrl("mysql"), await adviceOf(user.url));
    await (await opened(t, user.url)).claimShard(0, "a");
  });

  test("the user may not make the tables, until that is granted", async (t) => {
    const url = await newDatabase("mysql", t);
    const user = await newMysqlUser(t, url);
    await execute(url, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${nameOf(url)}.* TO ${user.name}@'%'`);
    await assertRefused(user.url, "STORE_DENIED", /CREATE command denied/);
    await execute(serverUrl("mysql"), await adviceOf(user.url));
    await opened(t, user.url);
  });

  test("the user may only read, until more is granted; making tables is not needed where they are", async (t) => {
    const url = await newDatabase("mysql", t);
    await opened(t, url);
    const user = await newMysqlUser(t, url);
    await execute(url, `GRANT SELECT ON ${nameOf(url)}.* TO ${user.name}@'%'`);
    await assertRefused(user.url, "STORE_DENIED", /INSERT command denied/);
    await execute(url, `GRANT INSERT, UPDATE ON ${nameOf(url)}.* TO ${user.name}@'%'`);
    await assertRefused(user.url, "STORE_DENIED", /DELETE command denied/);
    await execute(url, `GRANT DELETE ON ${nameOf(url)}.* TO ${user.name}@'%'`);
    await (await opened(t, user.url)).claimShard(0, "a");
  });
});

describe("the tables in a MySQL database", () => {
  test("are made once, however many open it at once", async (t) => {
    const url = await newDatabase("mysql", t);
    const stores = await Promise.all(Array.from({ length: 6 }, () => opened(t, url)));
    const versions = await execute(url, "SELECT version FROM heddle_schema_version ORDER BY version");
    assert.deepEqual(versions, [{ version: 2 }]);
    const claims = await Promise.all(stores.map((store) => store.claimShard(0, "a")));
    assert.equal(new Set(claims.map((claim) => claim?.epoch)).size, 6);
  });

  test("wait for whoever makes them, and not for ever", async (t) => {
    const url = await newDatabase("mysql", t);
    const [first] = (await execute(url, "SELECT SHA2(DATABASE(), 256) AS hash")) as { hash: string }[];
    const session = await newSession(url);
    t.after(() => session.end());
    await session.run(`DO GET_LOCK('heddle:${first?.hash.slice(0, 32)}', 0)`);
    const waiting = opened(t, url);
    const impatient = new MysqlStore({ url, limits: { workMs: 300, heartbeatMs: 300 } });
    await assert.rejects(impatient.open(), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.deepEqual(await execute(url, "SHOW TABLES"), []);
    await session.run("DO RELEASE_ALL_LOCKS()");
    await (await waiting).claimShard(0, "a");
  });

  test("are completed after an opening that was broken off", async (t) => {
    const url = await newDatabase("mysql", t);
    await (await opened(t, url)).close();
    await execute(url, "DROP TABLE heddle_mailbox, heddle_domain");
    await execute(url, "DELETE FROM heddle_schema_version");
    await execute(url, "INSERT INTO heddle_setting (name, value) VALUES ('shard_count', 7)");
    const store = await opened(t, url);
    await store.post({ mailbox: "a", body: "b", at: 1 });
    assert.equal(await store.settleShardCount(9), 7, "what was there is kept");
  });

  test("that are of an earlier program are brought up to date, with all that is in them", async (t) => {
    const url = await newDatabase("mysql", t);
    const first = await opened(t, url);
    await first.saveDefinitions([definitionRow({ version: "a" })]);
    await first.close();
    const planted = { version: 3, sql: "CREATE TABLE IF NOT EXISTS heddle_planted (a INT)" };
    for (let opening = 0; opening < 2; opening++) await migrateWith(url, planted);
    const versions = await execute(url, "SELECT version FROM heddle_schema_version ORDER BY version");
    assert.deepEqual(versions, [{ version: 2 }, { version: 3 }]);
    assert.deepEqual(await execute(url, "SELECT a FROM heddle_planted"), []);
    assert.deepEqual(await execute(url, "SELECT version FROM heddle_definition"), [{ version: "a" }]);
  });

  test("are migrated again after a migration that failed half way", async (t) => {
    const url = await newDatabase("mysql", t);
    await (await opened(t, url)).close();
    const create = "CREATE TABLE IF NOT EXISTS heddle_planted (a INT)";
    await assert.rejects(migrateWith(url, { version: 3, sql: `${create};INSERT INTO heddle_planted VALUES ('no')` }));
    assert.deepEqual(await execute(url, "SELECT version FROM heddle_schema_version"), [{ version: 2 }]);
    await migrateWith(url, { version: 3, sql: `${create};INSERT INTO heddle_planted VALUES (1)` });
    assert.deepEqual(await execute(url, "SELECT a FROM heddle_planted"), [{ a: 1 }]);
  });

  test("from before the first release are refused, and stay as they are", async (t) => {
    const url = await newDatabase("mysql", t);
    await execute(url, "CREATE TABLE heddle_schema_version (version BIGINT PRIMARY KEY)");
    await execute(url, "INSERT INTO heddle_schema_version VALUES (1)");
    await assertRefused(url, "STORE_OLDER", /has schema version 1, .* reads versions from 2 on: .*; run that version/);
    assert.equal((await execute(url, "SHOW TABLES")).length, 1);
  });

  test("of an unknown layout are refused, and stay as they are", async (t) => {
    const url = await newDatabase("mysql", t);
    await execute(url, "CREATE TABLE heddle_schema_version (version BIGINT PRIMARY KEY)");
    await execute(url, "INSERT INTO heddle_schema_version (version) VALUES (2)");
    await execute(url, "CREATE TABLE heddle_mark (shard BIGINT)");
    await assertRefused(url, "STORE_CORRUPT", /does not have the tables of its schema version/);
    const tables = await execute(url, "SHOW TABLES");
    assert.equal(tables.length, 2);
  });

  test("that are missing are found at once", async (t) => {
    const url = await newDatabase("mysql", t);
    await (await opened(t, url)).close();
    await execute(url, "DROP TABLE heddle_mailbox");
    await assertRefused(url, "STORE_CORRUPT", /does not have the tables of its schema version.*heddle_mailbox/);
  });

  test("that a newer program made are left alone", async (t) => {
    const url = await newDatabase("mysql", t);
    await (await opened(t, url)).close();
    await execute(url, "INSERT INTO heddle_schema_version (version) VALUES (999)");
    await assertRefused(
      url,
      "STORE_NEWER",
      /schema version 999, this program knows versions up to 2; run a newer version/,
    );
  });

  test("leave those of others alone", async (t) => {
    const url = await newDatabase("mysql", t);
    await execute(url, "CREATE TABLE instance (a INT)");
    await opened(t, url);
    const others = await execute(
      url,
      `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = DATABASE() AND LEFT(table_name, 7) <> 'heddle_'`,
    );
    assert.deepEqual(others, [{ name: "instance" }]);
  });
});

describe("a MySQL store", () => {
  test("is opened once at a time, also while it opens", async (t) => {
    const store = mysql(await newDatabase("mysql", t));
    const opening = store.open();
    await assert.rejects(store.open(), (error) => hasCode(error, "STORE_LOCKED"));
    await opening;
    t.after(() => store.close());
    await assert.rejects(store.open(), (error) => hasCode(error, "STORE_LOCKED"));
  });

  test("can be opened again after a failure, and after it was closed", async (t) => {
    const url = await newDatabase("mysql", t);
    const proxy = await Proxy.to(url);
    t.after(() => proxy.close());
    proxy.refuse();
    const store = mysql(proxy.url);
    await assert.rejects(store.open(), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    await proxy.accept();
    for (let round = 0; round < 2; round++) {
      await store.open();
      assert.deepEqual(await store.loadJobs(), []);
      await store.close();
    }
  });
});
