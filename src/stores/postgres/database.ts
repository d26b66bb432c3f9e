import { EngineError } from "../../base/error.ts";
import { checkSchemaVersion } from "../sql/faults.ts";
import type { Migration } from "../sql/sql-files.ts";
import type { PostgresAddress } from "./address.ts";
import { Connection, type Driver } from "./connection.ts";
import { grants, isNoRight, quoted, readOnly } from "./faults.ts";
import type { Row } from "./pipeline.ts";
import { type PostgresStatements, sqlFiles } from "./postgres-statements.ts";

/** Oldest supported version. */
const versionMin = 13;

/** Namespace of our advisory locks: "HDDL". */
const lockClass = 0x4844444c;

export interface Database {
  readonly address: PostgresAddress;
  /** The PostgreSQL schema with the tables. */
  readonly schema: string;
  /** Timeout of each statement. */
  readonly limitMs: number;
}

/** Facts that tell whether a server is suitable. */
export interface ServerFacts {
  /** `server_version_num`: 150004 for 15.4. */
  readonly version: number;
  readonly encoding: string;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
}

/**
 * Returns the settings of a session. A commit is durable when it returns, also if the server is set to answer sooner, and
 * READ COMMITTED.
 *
 * Each statement has one good plan, an index scan from the first row on. So the plan is generic, and the planner must not
 * choose by statistics, which are missing for a new table and late for one that grows fast.
 *
 * A statement times out a little before the caller does. TCP keep-alive lets the server detect a vanished host in half a
 * minute, so that its locks are not held for hours.
 *
 * Large values are compressed by lz4 if the server has it: ten megabytes are written in a quarter of the time.
 */
export function sessionSettings(session: { schema: string; name: string; limitMs: number }): string {
  const { schema, name, limitMs } = session;
  return `
    SET search_path TO ${quoted(schema)};
    SET application_name TO '${name.replaceAll("'", "''")}';
    SET statement_timeout TO ${Math.floor(limitMs * 0.8)};
    SET idle_in_transaction_session_timeout TO ${limitMs};
    SET tcp_keepalives_idle TO 10;
    SET tcp_keepalives_interval TO 5;
    SET tcp_keepalives_count TO 4;
    SET default_transaction_isolation TO 'read committed';
    SET plan_cache_mode TO force_generic_plan;
    SET jit TO off;
    SET enable_seqscan TO off;
    SET enable_bitmapscan TO off;
    SET enable_hashjoin TO off;
    SET enable_mergejoin TO off;
    SET max_parallel_workers_per_gather TO 0;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    SELECT set_config(name, 'lz4', false)
    FROM pg_settings
    WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals);
  `;
}

/** Checks the server, migrates the schema, and proves that every statement and right is there. */
export async function openDatabase(driver: Driver, database: Database, statements: PostgresStatements): Promise<void> {
  const { address, schema, limitMs } = database;
  const connection = await logIn(driver, address, limitMs);
  try {
    await checkServer(connection, database);
    await connection.execute(sessionSettings({ schema, name: "heddle opening", limitMs }), limitMs);
    await migrate(connection, database);
    await checkStatements(connection, database, statements);
    await checkRights(connection, database);
  } finally {
    await connection.end();
  }
}

async function logIn(driver: Driver, address: PostgresAddress, limitMs: number): Promise<Connection> {
  try {
    return await Connection.open(driver, { url: address.url, limitMs });
  } catch (error) {
    if (!isNoRight(error)) throw error;
    const { place, database, user } = address;
    throw new EngineError(
      "STORE_DENIED",
      `the user ${user} may not connect to the database ${place}; run GRANT CONNECT ON DATABASE ${quoted(database)} TO ${quoted(user)}`,
      { cause: error },
    );
  }
}

/** Refuses a server that would lose data, or is too old. */
async function checkServer(connection: Connection, { address, limitMs }: Database): Promise<void> {
  const [row = {}] = await connection.execute(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
      pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS readonly`,
    limitMs,
  );
  checkFacts(
    {
      version: Number(row["version"]),
      encoding: String(row["encoding"]),
      isStandby: row["standby"] === true,
      isReadOnly: row["readonly"] === "on",
    },
    address,
  );
}

export function checkFacts(facts: ServerFacts, { place, database }: PostgresAddress): void {
  const { version, encoding, isStandby, isReadOnly } = facts;
  const major = Math.floor(version / 10_000);
  if (major < versionMin) {
    throw new EngineError(
      "STORE_UNSUITABLE",
      `the server of the database ${place} is PostgreSQL ${major}; use version ${versionMin} or newer`,
    );
  }
  if (encoding !== "UTF8") {
    throw new EngineError(
      "STORE_UNSUITABLE",
      `the database ${place} keeps text as ${encoding}, which cannot hold every character; make another with CREATE DATABASE ${quoted(`${database}_utf8`)} ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
  if (isStandby || isReadOnly) {
    const { code, message } = readOnly(place);
    throw new EngineError(code, message);
  }
}

/** Runs the migrations that the schema lacks. If several members start at once, one migrates and the others wait. */
export async function migrate(
  connection: Connection,
  database: Database,
  migrations: readonly Migration[] = sqlFiles.migrations(),
): Promise<void> {
  const { schema, limitMs } = database;
  const known = migrations.at(-1)?.version ?? 0;
  if ((await readVersion(connection, database, migrations)) === known) return;
  await connection.execute(`BEGIN; SELECT pg_advisory_xact_lock(${lockClass}, hashtext('${schema}'))`, limitMs);
  // Another member may have migrated meanwhile.
  const version = await readVersion(connection, database, migrations);
  if (version === undefined) await createSchema(connection, database);
  for (const migration of migrations) {
    if (migration.version <= (version ?? 0)) continue;
    await connection.execute(migration.sql, limitMs);
    await connection.execute(`INSERT INTO schema_version (version) VALUES (${migration.version})`, limitMs);
  }
  await connection.execute("COMMIT", limitMs);
}

/** Returns 0 if the schema has no tables of Heddle yet, undefined if there is no such schema. */
async function readVersion(
  connection: Connection,
  database: Database,
  migrations: readonly Migration[],
): Promise<number | undefined> {
  const { address, schema, limitMs } = database;
  // Reads the catalogue's tables, because functions such as to_regclass may answer from a cache of this session.
  const [found = {}] = await connection.execute(
    `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '${schema}') AS schema,
      EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'schema_version') AS versions`,
    limitMs,
  );
  if (found["schema"] !== true) return undefined;
  if (found["versions"] !== true) return 0;
  const [row = {}] = await connection.execute(
    `SELECT max(version)::int AS version FROM ${quoted(schema)}.schema_version`,
    limitMs,
  );
  const version = Number(row["version"] ?? 0);
  checkSchemaVersion(version, migrations, address.place);
  return version;
}

async function createSchema(connection: Connection, { address, schema, limitMs }: Database): Promise<void> {
  try {
    await connection.execute(`CREATE SCHEMA ${quoted(schema)}`, limitMs);
  } catch (error) {
    if (!isNoRight(error)) throw error;
    const { place, database, user } = address;
    throw new EngineError(
      "STORE_DENIED",
      `the user ${user} may not make the schema ${schema} in the database ${place}; run GRANT CREATE ON DATABASE ${quoted(database)} TO ${quoted(user)}`,
      { cause: error },
    );
  }
}

/** Prepares every statement, which proves that its tables and columns exist. */
async function checkStatements(
  connection: Connection,
  { limitMs }: Database,
  statements: PostgresStatements,
): Promise<void> {
  const prepare = statements.all().map(({ name, sql }) => `PREPARE ${quoted(name)} AS ${sql}`);
  await connection.execute(prepare.join(";\n"), limitMs);
}

/** Checks all rights that will be needed: a missing one would otherwise fail a commit later. */
async function checkRights(connection: Connection, { address, schema, limitMs }: Database): Promise<void> {
  const lacking: Row[] = await connection.execute(
    `SELECT relname
    FROM pg_class
    WHERE relnamespace = '${quoted(schema)}'::regnamespace AND CASE relkind
      WHEN 'r' THEN NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
      WHEN 'S' THEN NOT has_sequence_privilege(oid, 'USAGE')
      ELSE false
    END`,
    limitMs,
  );
  if (lacking.length === 0) return;
  const names = lacking.map((row) => String(row["relname"])).join(", ");
  const { place, user } = address;
  throw new EngineError(
    "STORE_DENIED",
    `the user ${user} lacks rights to ${names} in the schema ${schema} of the database ${place}; run ${grants(user, schema)}`,
  );
}
