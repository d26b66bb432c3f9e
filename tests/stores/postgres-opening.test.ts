import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { inspect } from "node:util";
import pg from "pg";
import { hasCode, messageOf } from "../../src/base/error.ts";
import type { ErrorCode } from "../../src/base/error.ts";
import { postgres } from "../../src/postgres.ts";
import { parseAddress } from "../../src/stores/postgres/address.ts";
import { Connection } from "../../src/stores/postgres/connection.ts";
import { checkFacts, migrate, sessionSettings } from "../../src/stores/postgres/database.ts";
import { sqlFiles } from "../../src/stores/postgres/postgres-statements.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import type { Migration } from "../../src/stores/sql/sql-files.ts";
import type { Store } from "../../src/stores/store.ts";
import { definitionRow } from "../contract/store/rows.ts";
import { execute, newDatabase, serverUrl, urlOf } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { newPostgresUser } from "./postgres-user.ts";

const password = "pa55-w0rd";

/** `heddle on 127.0.0.1:5432` */
function placeOf(url: string): string {
  const { pathname, host } = new URL(url);
  return `${pathname.slice(1)} on ${host}`;
}

/** One sentence that says where and what to do, and the password is nowhere in the error. */
function assertClear(error: unknown, url: string, expected: { code: ErrorCode; words: RegExp }): true {
  assert.ok(hasCode(error, expected.code), `${expected.code}, got ${inspect(error)}`);
  assert.match(error.message, expected.words);
  assert.match(error.message, /^[a-z][^\n]*[^.]$/);
  assert.ok(error.message.includes(placeOf(url)), `names the place: ${error.message}`);
  const shown = inspect(error, { depth: null, showHidden: true });
  for (const secret of [password, new URL(url).password]) {
    if (secret !== "") assert.ok(!shown.includes(secret), "hides the password");
  }
  return true;
}

async function assertRefused(url: string, code: ErrorCode, words: RegExp): Promise<void> {
  await assert.rejects(postgres(url).open(), (error) => assertClear(error, url, { code, words }));
}

/** What the refusal says is to be run. */
async function adviceOf(url: string): Promise<string> {
  const refusal = await postgres(url)
    .open()
    .catch((error: unknown) => messageOf(error));
  return String(refusal).replace(/^.* run (.*?)(?: \([^(]*\))?$/, "$1");
}

/** Runs the migrations that a later program would have. */
async function migrateWith(url: string, planted: Migration): Promise<void> {
  const database = { address: parseAddress(url), schema: "heddle", limitMs: 10_000 };
  const settings = sessionSettings({ schema: "heddle", name: "heddle opening", limitMs: 10_000 });
  const connection = await Connection.open(pg, { url, limitMs: 10_000, settings });
  try {
    await migrate(connection, database, [...sqlFiles.migrations(), planted]);
  } finally {
    await connection.end();
  }
}

async function opened(t: TestContext, url: string, schema?: string): Promise<Store> {
  const store = new PostgresStore({ url, schema });
  await store.open();
  t.after(() => store.close());
  return store;
}

describe("the address of a PostgreSQL database", () => {
  for (const url of [
    "",
    "heddle",
    "127.0.0.1:5432",
    `mysql://user:${password}@host/database`,
    `http://user:${password}@host`,
    `postgres//user:${password}@host`,
    `postgres://user:${password}@ho st/database`,
    `postgres://user:${password}@host:port/database`,
    `postgres://us%er:${password}@host/database`,
  ]) {
    test(`${JSON.stringify(url.replace(password, "…"))} cannot be parsed`, () => {
      assert.throws(
        () => postgres(url),
        (error) => {
          assert.ok(hasCode(error, "OPTION_INVALID"));
          assert.match(error.message, /^the URL of the PostgreSQL database cannot be parsed; it must look like \S+$/);
          assert.ok(!inspect(error, { depth: null, showHidden: true }).includes(password));
          return true;
        },
      );
    });
  }

  for (const [url, place] of [
    ["postgres://user:secret@example.org/orders", "orders on example.org:5432"],
    ["postgresql://user@[::1]:6000/orders", "orders on [::1]:6000"],
    ["postgres://user:secret@/orders?host=/run/postgresql", "orders on /run/postgresql:5432"],
    ["postgres://us%40er:se%2Fcret@example.org:1/or%20ders?sslmode=require", "or ders on example.org:1"],
    ["postgres://user@example.org?port=7", "user on example.org:7"],
  ] as const) {
    test(`${url} is shown as ${place}`, () => assert.equal(parseAddress(url).place, place));
  }

  test("the options have their limits", () => {
    const url = "postgres://localhost/heddle";
    const isInvalid = (error: unknown): boolean => hasCode(error, "OPTION_INVALID");
    for (const schema of ["", "Heddle", "1st", "pg_heddle", "a-b", 'a"b', "x".repeat(64)]) {
      assert.throws(() => postgres(url, { schema }), isInvalid, schema);
    }
    for (const connections of [2, 0, -1, 3.5, Number.NaN]) {
      assert.throws(() => postgres(url, { connections }), isInvalid, String(connections));
    }
    postgres(url, { schema: "jobs_2", connections: 3 });
  });
});

describe("opening a PostgreSQL database that cannot be reached", () => {
  test("no server listens there", async () => {
    await assertRefused(`postgres://user:${password}@127.0.0.1:1/heddle`, "STORE_UNAVAILABLE", /no server listens/);
    await assertRefused(`postgres://user:${password}@localhost:1/heddle`, "STORE_UNAVAILABLE", /ECONNREFUSED/);
  });

  test("there is no such host", async () => {
    const url = `postgres://user:${password}@no-such-host.invalid:5432/heddle`;
    await assertRefused(url, "STORE_UNAVAILABLE", /no host no-such-host\.invalid is known/);
  });

  test("the server does not answer", async (t) => {
    const proxy = await Proxy.to(serverUrl("postgres"));
    t.after(() => proxy.close());
    proxy.hold("answers");
    const store = new PostgresStore({ url: proxy.url, limits: { workMs: 200, heartbeatMs: 200 } });
    await assert.rejects(store.open(), (error) =>
      assertClear(error, proxy.url, { code: "STORE_UNAVAILABLE", words: /cannot be opened.*timeout/ }),
    );
  });

  test("the server hangs up", async (t) => {
    const proxy = await Proxy.to(serverUrl("postgres"));
    t.after(() => proxy.close());
    void proxy.loseAnswer();
    await assertRefused(proxy.url, "STORE_UNAVAILABLE", /cannot be opened/);
  });

  test("the server has no encryption, and the URL asks for it", async () => {
    const url = `${serverUrl("postgres")}?sslmode=verify-full`;
    await assertRefused(url, "STORE_UNAVAILABLE", /SSL/);
  });
});

describe("opening a PostgreSQL database that does not let one in", () => {
  test("wrong password, no password, unknown user", async (t) => {
    const { url, name } = await newPostgresUser(t, await newDatabase("postgres", t));
    const as = (parts: { username?: string; password: string }): string => Object.assign(new URL(url), parts).href;
    await assertRefused(as({ password }), "STORE_DENIED", new RegExp(`does not let the user ${name} in`));
    await assertRefused(as({ password: "" }), "STORE_DENIED", /check the name and the password/);
    await assertRefused(as({ username: "nobody", password }), "STORE_DENIED", /does not let the user nobody in/);
  });

  test("there is no such database", async () => {
    const url = urlOf(serverUrl("postgres"), "no_such_database");
    await assertRefused(url, "STORE_DENIED", /CREATE DATABASE "no_such_database"/);
  });

  test("the user may not connect, until that is granted", async (t) => {
    const url = await newDatabase("postgres", t);
    const user = await newPostgresUser(t, url);
    const database = new URL(url).pathname.slice(1);
    await execute(url, `CREATE SCHEMA heddle AUTHORIZATION ${user.name}`);
    await execute(url, `REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`);
    const grant = `GRANT CONNECT ON DATABASE "${database}" TO "${user.name}"`;
    await assertRefused(user.url, "STORE_DENIED", new RegExp(`run ${grant}`));
    await execute(url, grant);
    await opened(t, user.url);
  });

  test("the user may not make the schema, until that is granted", async (t) => {
    const url = await newDatabase("postgres", t);
    const user = await newPostgresUser(t, url);
    const database = new URL(url).pathname.slice(1);
    const grant = `GRANT CREATE ON DATABASE "${database}" TO "${user.name}"`;
    await assertRefused(user.url, "STORE_DENIED", new RegExp(`run ${grant}`));
    await execute(url, grant);
    await opened(t, user.url);
  });

  test("a schema made beforehand is enough", async (t) => {
    const url = await newDatabase("postgres", t);
    const user = await newPostgresUser(t, url);
    await execute(url, `CREATE SCHEMA heddle AUTHORIZATION ${user.name}`);
    await (await opened(t, user.url)).claimShard(0, "a");
  });

  test("the tables are another's, until they are granted", async (t) => {
    const url = await newDatabase("postgres", t);
    await opened(t, url);
    const user = await newPostgresUser(t, url);
    await assertRefused(user.url, "STORE_DENIED", /lacks a right.* run GRANT USAGE ON SCHEMA "heddle"/);
    await execute(url, `GRANT USAGE ON SCHEMA heddle TO ${user.name}`);
    await execute(url, `GRANT SELECT ON ALL TABLES IN SCHEMA heddle TO ${user.name}`);
    await assertRefused(user.url, "STORE_DENIED", /lacks rights to .*definition_save_number/);
    await execute(url, await adviceOf(user.url));
    await (await opened(t, user.url)).claimShard(0, "a");
  });
});

describe("opening a PostgreSQL database that is not suitable", () => {
  test("another encoding", async (t) => {
    const server = serverUrl("postgres");
    const name = `t_${randomUUID().replaceAll("-", "")}`;
    await execute(
      server,
      `CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    t.after(async () => void (await execute(server, `DROP DATABASE ${name} WITH (FORCE)`)));
    await assertRefused(urlOf(server, name), "STORE_UNSUITABLE", /keeps text as SQL_ASCII.*ENCODING 'UTF8'/);
  });

  test("read-only", async (t) => {
    const url = await newDatabase("postgres", t);
    await execute(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only TO on`);
    await assertRefused(url, "STORE_READ_ONLY", /is read-only or a standby; connect to the server that takes writes/);
  });

  test("too old, or a standby", () => {
    const address = parseAddress("postgres://user@example.org/heddle");
    const good = { version: 130_000, encoding: "UTF8", isStandby: false, isReadOnly: false };
    checkFacts(good, address);
    assert.throws(
      () => checkFacts({ ...good, version: 120_022 }, address),
      (error) => hasCode(error, "STORE_UNSUITABLE") && /PostgreSQL 12; use version 13 or newer/.test(error.message),
    );
    assert.throws(
      () => checkFacts({ ...good, isStandby: true }, address),
      (error) => hasCode(error, "STORE_READ_ONLY") && /heddle on example\.org:5432/.test(error.message),
    );
  });

  test("written by a newer program", async (t) => {
    const url = await newDatabase("postgres", t);
    await (await opened(t, url)).close();
    await execute(url, "INSERT INTO heddle.schema_version (version) VALUES (999)");
    await assertRefused(
      url,
      "STORE_NEWER",
      /schema version 999, this program knows versions up to 2; run a newer version/,
    );
  });

  test("tables of another program, and tables that are missing", async (t) => {
    const url = await newDatabase("postgres", t);
    await execute(url, "CREATE TABLE public.job (id int)");
    await assert.rejects(new PostgresStore({ url, schema: "public" }).open(), (error) =>
      assertClear(error, url, { code: "STORE_CORRUPT", words: /schema public .* has tables of another program/ }),
    );
    await (await opened(t, url)).close();
    await execute(url, "DROP TABLE heddle.mailbox");
    await assertRefused(url, "STORE_CORRUPT", /does not have the tables of its schema version/);
  });
});

describe("the tables in a PostgreSQL database", () => {
  test("are made once, however many open it at once", async (t) => {
    const url = await newDatabase("postgres", t);
    const stores = await Promise.all(Array.from({ length: 6 }, () => opened(t, url)));
    const versions = await execute(url, "SELECT version::int FROM heddle.schema_version ORDER BY version");
    assert.deepEqual(versions, [{ version: 2 }]);
    const claims = await Promise.all(stores.map((store) => store.claimShard(0, "a")));
    assert.equal(new Set(claims.map((claim) => claim?.epoch)).size, 6);
  });

  test("of an earlier program are brought up to date, with all that is in them", async (t) => {
    const url = await newDatabase("postgres", t);
    const first = await opened(t, url);
    await first.saveDefinitions([definitionRow({ version: "a" })]);
    await first.close();
    const planted = { version: 3, sql: "ALTER TABLE definition ADD COLUMN planted bigint NOT NULL DEFAULT 7" };
    for (let opening = 0; opening < 2; opening++) await migrateWith(url, planted);
    const versions = await execute(url, "SELECT version::int FROM heddle.schema_version ORDER BY version");
    assert.deepEqual(versions, [{ version: 2 }, { version: 3 }]);
    const definitions = await execute(url, "SELECT version, planted::int FROM heddle.definition");
    assert.deepEqual(definitions, [{ version: "a", planted: 7 }]);
  });

  test("stay as they are if a migration fails", async (t) => {
    const url = await newDatabase("postgres", t);
    await (await opened(t, url)).close();
    await assert.rejects(migrateWith(url, { version: 3, sql: "CREATE TABLE planted (a int); SELECT 1 / 0" }));
    assert.deepEqual(await execute(url, "SELECT version::int FROM heddle.schema_version"), [{ version: 2 }]);
    assert.deepEqual(await execute(url, "SELECT 1 FROM pg_tables WHERE tablename = 'planted'"), []);
  });

  test("from before the first release are refused, and stay as they are", async (t) => {
    const url = await newDatabase("postgres", t);
    await execute(url, "CREATE SCHEMA heddle");
    await execute(url, "CREATE TABLE heddle.schema_version (version bigint)");
    await execute(url, "INSERT INTO heddle.schema_version VALUES (1)");
    await assertRefused(url, "STORE_OLDER", /has schema version 1, .* reads versions from 2 on: .*; run that version/);
    assert.deepEqual(await execute(url, "SELECT version::int FROM heddle.schema_version"), [{ version: 1 }]);
  });

  test("of an unknown layout are refused, and stay as they are", async (t) => {
    const url = await newDatabase("postgres", t);
    await execute(url, "CREATE SCHEMA heddle");
    await execute(url, "CREATE TABLE heddle.schema_version (version bigint)");
    await execute(url, "INSERT INTO heddle.schema_version VALUES (2)");
    await execute(url, "CREATE TABLE heddle.mark (shard bigint)");
    await assertRefused(
      url,
      "STORE_CORRUPT",
      /does not have the tables of its schema version, or has tables of another program;/,
    );
    const tables = await execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'heddle' ORDER BY 1");
    assert.deepEqual(tables, [{ tablename: "mark" }, { tablename: "schema_version" }]);
  });

  test("are made wholly or not at all", async (t) => {
    const url = await newDatabase("postgres", t);
    await execute(url, "CREATE SCHEMA heddle");
    await execute(url, "CREATE TABLE heddle.setting (name text)");
    await assertRefused(url, "STORE_CORRUPT", /"setting" already exists/);
    const tables = await execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'heddle'");
    assert.deepEqual(tables, [{ tablename: "setting" }]);
    await execute(url, "DROP TABLE heddle.setting");
    await opened(t, url);
  });

  test("lie in the schema one asked for, and each schema is a store of its own", async (t) => {
    const url = await newDatabase("postgres", t);
    const [one, two] = [await opened(t, url, "one"), await opened(t, url, "two")];
    await one.settleShardCount(4);
    assert.equal(await two.settleShardCount(8), 8);
    assert.equal(await one.settleShardCount(9), 4);
    assert.deepEqual(await execute(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'heddle'"), []);
  });
});
