import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { ColumnList } from "../sql/columns.ts";
import type { StatementResult, Row, SessionUse, SqlDriver, StatementCall, Value } from "../sql/sql-driver.ts";
import { type StatementName, Statements } from "../sql/statements.ts";
import type { DatabaseClock } from "../database-clock.ts";
import { toDisk } from "../text.ts";
import { openFile, openInMemory, settlePath, sqlFiles } from "./database.ts";
import { FileIdentity } from "./file-identity.ts";
import { FileLock } from "./file-lock.ts";

export type SqliteStatements = Statements<StatementSync>;

/** Lock and identity of a file; a database in memory has none, because no other process can reach it. */
interface OwnedFile {
  readonly lock: FileLock;
  readonly identity: FileIdentity;
}

/** An open SQLite database. Its client is synchronous: a call has done its work when it returns its promise. */
export class SqliteDriver implements SqlDriver {
  readonly statements: SqliteStatements;
  readonly #db: DatabaseSync;
  readonly #file: OwnedFile | undefined;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;

  /** Preparing every statement proves that its tables and columns are there. */
  private constructor(db: DatabaseSync, clock: DatabaseClock, file: OwnedFile | undefined) {
    this.#db = db;
    this.#file = file;
    db.function("clock_seconds", () => Math.floor(clock.now() / 1000));
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#rollback = db.prepare("ROLLBACK");
    this.statements = new Statements(sqlFiles, (sql) => db.prepare(sql));
  }

  static inMemory(clock: DatabaseClock): SqliteDriver {
    return SqliteDriver.#over(openInMemory(), clock, undefined);
  }

  static inFile(file: string, clock: DatabaseClock): SqliteDriver {
    const path = settlePath(file);
    const lock = FileLock.take(path);
    try {
      const driver = SqliteDriver.#over(openFile(path), clock, { lock, identity: new FileIdentity(path) });
      driver.checkFile();
      return driver;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  static #over(db: DatabaseSync, clock: DatabaseClock, file: OwnedFile | undefined): SqliteDriver {
    try {
      return new SqliteDriver(db, clock, file);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** `STORE_GONE` if the file was deleted or replaced. */
  checkFile(): void {
    this.#file?.identity.check();
  }

  async all({ name, values }: StatementCall): Promise<readonly Row[]> {
    return this.#rows(name, values);
  }

  async snapshot(queries: readonly StatementCall[]): Promise<readonly (readonly Row[])[]> {
    return queries.map(({ name, values }) => this.#rows(name, values));
  }

  async transaction(_: SessionUse, calls: readonly StatementCall[]): Promise<readonly StatementResult[]> {
    return this.inTransaction(() => calls.map((call) => this.#run(call)));
  }

  async write<Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): Promise<void> {
    this.inTransaction((statements) => {
      const statement = statements.get(name);
      for (const item of items) statement.run(...columns.map((column) => bindable(column.of(item))));
    });
  }

  /** Commits the work, or rolls all of it back. */
  inTransaction<Result>(work: (statements: SqliteStatements) => Result): Result {
    this.#begin.run();
    let result: Result;
    try {
      result = work(this.statements);
      this.#commit.run();
    } catch (error) {
      // After some errors SQLite has already rolled back by itself.
      if (this.#db.isTransaction) this.#rollback.run();
      throw error;
    }
    // Checked after the commit: a file that is at its place now was there when it was written.
    this.#file?.identity.checkIfDue();
    return result;
  }

  /**
   * Folds the write-ahead log into the database, so that one file is left; but not into a backup that was restored over
   * it: `STORE_GONE`.
   */
  async close(): Promise<void> {
    const identity = this.#file?.identity;
    const isOverwritten = identity?.isOverwritten === true;
    try {
      if (identity && !isOverwritten) this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } finally {
      try {
        if (isOverwritten) identity.whileAside(() => this.#db.close());
        else this.#db.close();
      } finally {
        this.#file?.lock.release();
      }
    }
    if (isOverwritten) this.checkFile();
  }

  #rows(name: StatementName, values: readonly Value[]): readonly Row[] {
    return this.statements.get(name).all(...values.map(encode));
  }

  #run({ name, values }: StatementCall): StatementResult {
    const statement = this.statements.get(name);
    const bound = values.map(encode);
    if (statement.columns().length > 0) return { rows: statement.all(...bound), changes: 0 };
    return { rows: [], changes: Number(statement.run(...bound).changes) };
  }
}

/** Lists are JSON arrays, which statements read by `json_each`. */
function encode(value: Value): SQLInputValue {
  if (typeof value !== "object" || value === null) return bindable(value);
  return JSON.stringify("integers" in value ? value.integers : value.texts.map(toDisk));
}

/** Other values are left to the client, which refuses them. */
function bindable(value: string | number | boolean | null): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "string" ? toDisk(value) : value;
}
