import { accessSync, constants, mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { EngineError } from "../../base/error.ts";
import { checkSchemaVersion } from "../sql/faults.ts";
import { type Migration, SqlFiles } from "../sql/sql-files.ts";
import { needsWriterToRecover } from "./faults.ts";
import { ensurePrivateFile, privateFolderMode } from "./private-file.ts";

export const sqlFiles = new SqlFiles(import.meta.url);

/** `application_id` in the header of Heddle's files: "HDDL". */
const applicationId = 0x4844444c;

/**
 * Settings of a file. A commit is durable when it returns. The commit that makes the write-ahead log larger than about 40 MB
 * checkpoints it, and space beyond 64 MB is returned.
 */
const filePragmas = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA wal_autocheckpoint = 10000;
  PRAGMA journal_size_limit = 67108864;
`;

const pragmas = `
  PRAGMA cache_size = -65536;
  PRAGMA temp_store = MEMORY;
`;

/** Other programs may read the file and lock it for a moment; a commit waits for them up to this time. */
const busyTimeoutMs = 100;

/**
 * Makes the folder, and resolves links, so that one file has one path and therefore one lock. Checks that the file is
 * writable, because SQLite would open it read-only and fail at the first commit.
 */
export function settlePath(file: string): string {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: privateFolderMode });
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) {
    const path = join(realpathSync(folder), basename(file));
    // SQLite gives the log and the shared memory beside it the same permissions.
    ensurePrivateFile(path);
    return path;
  }
  if (stats.isDirectory()) {
    throw new EngineError(
      "OPTION_INVALID",
      `the database cannot be kept at ${file}, which is a folder; give the name of a file in it`,
    );
  }
  accessSync(file, constants.W_OK);
  return realpathSync(file);
}

export function openFile(file: string, migrations: readonly Migration[] = sqlFiles.migrations()): DatabaseSync {
  checkFile(file, migrations);
  return openWith(file, `${filePragmas}${pragmas}`, migrations);
}

export function openInMemory(): DatabaseSync {
  return openWith(":memory:", pragmas, sqlFiles.migrations());
}

function openWith(file: string, settings: string, migrations: readonly Migration[]): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    db.exec(settings);
    migrate(db, migrations);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/**
 * Refuses a file of another program before anything is changed. Opens it read-only, because closing a writable connection
 * would checkpoint the log.
 */
function checkFile(file: string, migrations: readonly Migration[]): void {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return;
  try {
    checkHeader(file, { migrations, readOnly: true });
  } catch (error) {
    if (!needsWriterToRecover(error)) throw error;
    checkHeader(file, { migrations, readOnly: false });
  }
}

function checkHeader(file: string, options: { migrations: readonly Migration[]; readOnly: boolean }): void {
  const db = new DatabaseSync(file, { readOnly: options.readOnly, timeout: busyTimeoutMs });
  try {
    const tables = readNumber(db, "SELECT count(*) FROM sqlite_schema");
    if (tables === 0) return;
    if (readNumber(db, "PRAGMA application_id") !== applicationId) {
      throw new EngineError("STORE_CORRUPT", `the file ${file} is a database of another program; give another file`);
    }
    const version = readNumber(db, "PRAGMA user_version");
    checkSchemaVersion(version, options.migrations, file);
  } finally {
    db.close();
  }
}

/** Runs the migrations in one transaction, which begins also if there are none: it proves that the file is writable. */
function migrate(db: DatabaseSync, migrations: readonly Migration[]): void {
  db.exec("BEGIN IMMEDIATE");
  const version = readNumber(db, "PRAGMA user_version");
  for (const migration of migrations) {
    if (migration.version <= version) continue;
    db.exec(migration.sql);
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migration.version};`);
  }
  db.exec("COMMIT");
}

function readNumber(db: DatabaseSync, sql: string): number {
  const row = db.prepare(sql).get();
  const value = row === undefined ? undefined : Object.values(row)[0];
  return typeof value === "number" ? value : 0;
}
