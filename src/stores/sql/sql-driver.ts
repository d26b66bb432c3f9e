import type { ColumnList } from "./columns.ts";
import type { StatementName } from "./statements.ts";

export type Row = Readonly<Record<string, unknown>>;

/** A value of a statement. Text is as callers know it; drivers escape it (`toDisk`). A list is one value. */
export type Value =
  | string
  | number
  | null
  | { readonly integers: readonly number[] }
  | { readonly texts: readonly string[] };

/** A statement with its values, in the order of its parameters. */
export interface StatementCall {
  readonly name: StatementName;
  readonly values: readonly Value[];
}

export interface StatementResult {
  readonly rows: readonly Row[];
  /** Number of rows that were written. On PostgreSQL the statement must return them (RETURNING). */
  readonly changes: number;
}

/** Use of a connection. Each use has its own connections, so that none waits for another. */
export type SessionUse = "commits" | "heartbeats" | "other";

/**
 * The part of an open database that `SqlStore` needs. Every call is one round trip, has a deadline, and throws the errors of the
 * database's client, which the store translates.
 */
export interface SqlDriver {
  all(query: StatementCall): Promise<readonly Row[]>;
  /** Runs queries in one read-only snapshot; returns the rows of each. */
  snapshot(queries: readonly StatementCall[]): Promise<readonly (readonly Row[])[]>;
  /** Runs the statements in order in one transaction; each sees what others committed before it (READ COMMITTED). */
  transaction(use: SessionUse, calls: readonly StatementCall[]): Promise<readonly StatementResult[]>;
  /** Writes the items with one statement, all or none. */
  write<Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): Promise<void>;
  close(): Promise<void>;
}
