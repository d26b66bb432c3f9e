import type { Notifier, NotifierOptions } from "../notifier.ts";
import type { ColumnList } from "../sql/columns.ts";
import type { StatementResult, Row, SessionUse, SqlDriver, StatementCall, Value } from "../sql/sql-driver.ts";
import type { StatementName } from "../sql/statements.ts";
import { toDisk } from "../text.ts";
import { bigints, texts } from "./array-parameter.ts";
import { type Limits, Connections, loadClient } from "../sql/connections.ts";
import type { PostgresAddress } from "./address.ts";
import { Connection, type Driver } from "./connection.ts";
import { openDatabase, sessionSettings } from "./database.ts";
import { sqlStateOf } from "./faults.ts";
import { PostgresNotifier } from "./postgres-notifier.ts";
import { loadStatements, type PostgresStatements } from "./postgres-statements.ts";
import { sessionName } from "./session-name.ts";
import type { BoundStatement, Statement, WireValue } from "./pipeline.ts";
import { arraysOf } from "./wire-columns.ts";

const beginSnapshot = bindValues({ name: "begin snapshot", sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" });
const endSnapshot = bindValues({ name: "end snapshot", sql: "COMMIT" });

export interface PostgresDriverOptions {
  readonly address: PostgresAddress;
  /** The PostgreSQL schema with the tables. */
  readonly schema: string;
  /** Maximum number of connections. */
  readonly size: number;
  readonly limits: Limits;
}

/** Connections to a PostgreSQL server. Every call is one pipeline: one round trip, and one transaction. */
export class PostgresDriver implements SqlDriver {
  readonly statements: PostgresStatements;
  readonly #client: Driver;
  readonly #options: PostgresDriverOptions;
  readonly #connections: Connections<Connection>;
  /** Member that the sessions are named after; undefined before it joined. */
  #member: string | undefined;

  private constructor(client: Driver, statements: PostgresStatements, options: PostgresDriverOptions) {
    const { address, schema, size, limits } = options;
    this.#client = client;
    this.#options = options;
    this.statements = statements;
    this.#connections = new Connections({
      size,
      limits,
      isAnswer: (error) => sqlStateOf(error) !== undefined,
      connect: async (use, { limitMs, leftMs }, signal) => {
        const settings = sessionSettings({ schema, name: sessionName(use, this.#member), limitMs });
        return await Connection.open(client, { url: address.url, limitMs: leftMs, signal, settings });
      },
    });
  }

  static async open(options: PostgresDriverOptions): Promise<PostgresDriver> {
    const { address, schema, limits } = options;
    const driver = await PostgresDriver.connect(options);
    await openDatabase(driver.#client, { address, schema, limitMs: limits.workMs }, driver.statements);
    return driver;
  }

  /** For a database that this process has opened already: connections are made with the first calls. */
  static async connect(options: PostgresDriverOptions): Promise<PostgresDriver> {
    const client = await loadClient("PostgreSQL", "pg", () => import("pg"));
    return new PostgresDriver(client, loadStatements(), options);
  }

  get member(): string | undefined {
    return this.#member;
  }

  /** Names new sessions after the member: the member that removes it ends them. */
  nameSessions(member: string): void {
    this.#member = member;
    this.#connections.renew(["commits", "other", "heartbeats"]);
  }

  /** Runs the statements in one transaction and one round trip; returns the rows of each. */
  async run(use: SessionUse, statements: readonly BoundStatement[]): Promise<readonly (readonly Row[])[]> {
    const deadline = this.#connections.deadlineOf(use);
    return await this.#connections.use(use, deadline, (connection) => connection.run(statements, deadline.leftMs));
  }

  async all(query: StatementCall): Promise<readonly Row[]> {
    const [rows = []] = await this.run("other", [this.#bind(query)]);
    return rows;
  }

  async snapshot(queries: readonly StatementCall[]): Promise<readonly (readonly Row[])[]> {
    const statements = queries.map((query) => this.#bind(query));
    const [, ...rows] = await this.run("other", [beginSnapshot, ...statements, endSnapshot]);
    return rows.slice(0, queries.length);
  }

  async transaction(use: SessionUse, calls: readonly StatementCall[]): Promise<readonly StatementResult[]> {
    const results = await this.run(
      use,
      calls.map((call) => this.#bind(call)),
    );
    return results.map((rows) => ({ rows, changes: rows.length }));
  }

  async write<Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): Promise<void> {
    if (items.length === 0) return;
    await this.run("other", [bindValues(this.statements.get(name), ...arraysOf(columns, items))]);
  }

  /** Opens a session in addition to the others, which its caller closes. */
  async openNotifier(options: NotifierOptions): Promise<Notifier> {
    const { address, schema, limits } = this.#options;
    const { statements } = this;
    const parts = { client: this.#client, statements, url: address.url, schema, limitMs: limits.heartbeatMs };
    return await PostgresNotifier.open(parts, options);
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  #bind({ name, values }: StatementCall): BoundStatement {
    return bindValues(this.statements.get(name), ...values.map(encode));
  }
}

function encode(value: Value): WireValue {
  if (typeof value === "string") return toDisk(value);
  if (typeof value === "number" || value === null) return value;
  return "integers" in value ? bigints(value.integers, (each) => each) : texts(value.texts, (each) => each);
}

function bindValues(statement: Statement, ...values: readonly WireValue[]): BoundStatement {
  return { statement, values };
}
