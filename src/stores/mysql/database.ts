import { createHash } from "node:crypto";
import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import { checkSchemaVersion } from "../sql/faults.ts";
import type { Migration } from "../sql/sql-files.ts";
import type { MysqlAddress } from "./address.ts";
import { Connection } from "./connection.ts";
import type { Driver, Result, Row } from "./connection.ts";
import { isMissingTable } from "./faults.ts";
import { whole } from "./literal.ts";
import { patienceS, settings } from "./script.ts";
import { readFacts, type Server, suitableServer } from "./server.ts";
import { sqlFiles, statements } from "./statement.ts";

/** Timeout of a lock: shorter than any call's deadline, and longer than the server waits for a client that holds locks. */
const lockWaitS = 20;

/**
 * Settings of every connection, whatever the server or `init_connect` has set: READ COMMITTED, and no limit on the rows that
 * a statement returns or changes.
 *
 * The server gives up a client that stalls in the middle of a packet (`net_read_timeout`) or between two (`wait_timeout`).
 */
export const sessionSettings = [
  settings,
  "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
  `SET autocommit = 1, unique_checks = 1, sql_safe_updates = 0, sql_select_limit = DEFAULT, sql_big_selects = 1,
    group_concat_max_len = 1073741824, innodb_lock_wait_timeout = ${lockWaitS},
    wait_timeout = ${patienceS}, net_read_timeout = 10`,
].join(";");

/** Proves that the tables are there, and that this user may read and write. */
function checksOf(migrations: readonly Migration[]): string {
  const tables = migrations.flatMap(({ sql }) =>
    Array.from(sql.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)/gm), ([, table]) => table),
  );
  return [
    settings,
    `SELECT 1 FROM ${tables.join(", ")} WHERE FALSE`,
    "INSERT INTO heddle_setting (name, value) SELECT name, value FROM heddle_setting WHERE FALSE",
    "UPDATE heddle_setting SET value = 0 WHERE FALSE",
    "DELETE FROM heddle_setting WHERE FALSE",
  ].join(";");
}

export interface Opening {
  readonly connection: Connection;
  readonly address: MysqlAddress;
  readonly server: Server;
  readonly limitMs: number;
}

/** Checks the server, migrates the schema, and returns the facts that depend on the server. */
export async function openDatabase(driver: Driver, address: MysqlAddress, limitMs: number): Promise<Server> {
  const connection = await Connection.open(driver, address, limitMs);
  try {
    const server = suitableServer(await readFacts(connection, limitMs), address);
    await connection.send(sessionSettings, limitMs);
    const migrations = sqlFiles.migrations();
    await migrate({ connection, address, server, limitMs }, migrations);
    await connection.send(checksOf(migrations), limitMs);
    return server;
  } finally {
    await connection.end();
  }
}

/**
 * Runs the migrations that the database lacks. MySQL cannot roll back a CREATE or an ALTER, so a named lock, which ends with
 * the connection, keeps others out, and an interrupted migration runs again from its beginning.
 */
export async function migrate(opening: Opening, migrations: readonly Migration[]): Promise<void> {
  const known = migrations.at(-1)?.version ?? 0;
  if ((await readVersion(opening, migrations)) === known) return;
  await lock(opening);
  // Another member may have migrated meanwhile.
  const version = await readVersion(opening, migrations);
  const { connection, server, limitMs } = opening;
  for (const migration of migrations) {
    if (migration.version <= version) continue;
    const sql = migration.sql.replaceAll("{collation}", server.collation).trim();
    await connection.send(`${settings};${sql}`, limitMs);
    const save = statements.get("save-schema-version").with(whole(migration.version));
    await connection.send(`${settings};${save}`, limitMs);
  }
}

async function lock({ connection, address, limitMs }: Opening): Promise<void> {
  // Names of locks are shared by the whole server, and at most 64 characters long.
  const name = `heddle:${createHash("sha256").update(address.database).digest("hex").slice(0, 32)}`;
  const results = await connection.send(`${settings};SELECT GET_LOCK('${name}', ${lockWaitS}) AS got`, limitMs);
  if (firstRow(results)?.["got"] === 1) return;
  throw new EngineError(
    "STORE_UNAVAILABLE",
    `another member has been migrating the database ${address.place} for ${lockWaitS} seconds; try again`,
  );
}

/** Returns 0 if the database has no tables of Heddle yet. */
async function readVersion(
  { connection, address, limitMs }: Opening,
  migrations: readonly Migration[],
): Promise<number> {
  const version = await connection.send(`${settings};${statements.get("find-schema-version").with()}`, limitMs).then(
    (results) => firstRow(results)?.["version"] ?? 0,
    (error: unknown) => {
      if (isMissingTable(error)) return 0;
      throw error;
    },
  );
  assert(typeof version === "number", "a schema's version is a number");
  checkSchemaVersion(version, migrations, address.place);
  return version;
}

/** Returns the first row of the second statement; the first statement is the settings. */
function firstRow([, rows]: readonly Result[]): Row | undefined {
  return Array.isArray(rows) ? rows[0] : undefined;
}
