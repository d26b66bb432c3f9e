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

/** How long a lock is waited for. Shorter than any call, and longer than the server waits for a client with locks. */
const lockWaitS = 20;

/**
 * For every connection, whatever the server or somebody's `init_connect` has set. Each statement sees what has been
 * committed before it. Nothing limits how much a statement gives or changes.
 *
 * A client that is stopped in the middle of sending a packet is given up like one that is stopped between two.
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

/** Checks the server, brings the tables up to date, and says what differs there. */
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
 * A server cannot undo a CREATE or an ALTER. So only one does it at a time, and a migration that was broken off is run
 * again from its beginning. The lock goes with the connection.
 */
export async function migrate(opening: Opening, migrations: readonly Migration[]): Promise<void> {
  const known = migrations.at(-1)?.version ?? 0;
  if ((await readVersion(opening, known)) === known) return;
  await lock(opening);
  // Another may have done it meanwhile.
  const version = await readVersion(opening, known);
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
  // Names of locks are the whole server's, and short.
  const name = `heddle:${createHash("sha256").update(address.database).digest("hex").slice(0, 32)}`;
  const results = await connection.send(`${settings};SELECT GET_LOCK('${name}', ${lockWaitS}) AS got`, limitMs);
  if (firstRow(results)?.["got"] === 1) return;
  throw new EngineError(
    "STORE_UNAVAILABLE",
    `another member has been migrating the database ${address.place} for ${lockWaitS} seconds; try again`,
  );
}

/** 0 if there is nothing of ours yet. */
async function readVersion({ connection, address, limitMs }: Opening, known: number): Promise<number> {
  const version = await connection.send(`${settings};${statements.get("read-schema-version").with()}`, limitMs).then(
    (results) => firstRow(results)?.["version"] ?? 0,
    (error: unknown) => {
      if (isMissingTable(error)) return 0;
      throw error;
    },
  );
  assert(typeof version === "number", "a schema's version is a number");
  checkSchemaVersion(version, known, address.place);
  return version;
}

/** Of the second statement: the first are the settings. */
function firstRow([, rows]: readonly Result[]): Row | undefined {
  return Array.isArray(rows) ? rows[0] : undefined;
}
