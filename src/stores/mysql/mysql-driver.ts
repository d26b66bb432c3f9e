import { assert } from "../../base/assert.ts";
import type { ColumnList } from "../sql/columns.ts";
import { Connections, type Limits, loadClient } from "../sql/connections.ts";
import type { Deadline } from "../sql/deadline.ts";
import type { StatementResult, Row, SessionUse, SqlDriver, StatementCall, Value } from "../sql/sql-driver.ts";
import type { StatementName } from "../sql/statements.ts";
import type { MysqlAddress } from "./address.ts";
import { Connection, type Driver, type Result } from "./connection.ts";
import { openDatabase, sessionSettings } from "./database.ts";
import { isAnswer } from "./faults.ts";
import { bound, list, type Literal, nothing, rowsOf, text, whole } from "./literal.ts";
import { rowsPerStatementMax, Script, settings, transaction } from "./script.ts";
import { packetBytes } from "./server.ts";
import { takeName } from "./session-name.ts";
import { statements } from "./statement.ts";

/** The runtime has few commits under way at a time, and a member has names for no more (`takeName`). */
const commitsMax = 8;

/** A size that every server takes. */
const packetBytesMin = 1024;

const beginSnapshot = ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY"];

export interface MysqlDriverOptions {
  readonly address: MysqlAddress;
  /** Maximum number of connections. */
  readonly size: number;
  readonly limits: Limits;
}

/**
 * Connections to a MySQL or MariaDB server. Every call is one packet, which the server completes by itself: a client
 * that is stopped or cut off in the middle of a call holds no locks. Only a transaction that is larger than a packet may
 * be takes several; see `transaction` in script.ts.
 */
export class MysqlDriver implements SqlDriver {
  readonly #client: Driver;
  readonly #address: MysqlAddress;
  readonly #connections: Connections<Connection>;
  #packetBytesMax: number;
  /** Member that joined last through this store. */
  #member: string | undefined;

  private constructor(client: Driver, { address, size, limits }: MysqlDriverOptions, packetBytesMax: number) {
    this.#client = client;
    this.#address = address;
    this.#packetBytesMax = packetBytesMax;
    this.#connections = new Connections({
      size,
      limits,
      commitsMax,
      isAnswer,
      connect: (use, deadline, signal) => this.#connect(use, deadline, signal),
    });
  }

  static async open(options: MysqlDriverOptions): Promise<MysqlDriver> {
    const client = await loadClient("MySQL or MariaDB", "mysql2", () => import("mysql2"));
    const server = await openDatabase(client, options.address, options.limits.workMs);
    return new MysqlDriver(client, options, server.packetBytesMax);
  }

  /** For a database that this process has opened already: connections are made with the first calls, which ask for the size of packets. */
  static async connect(options: MysqlDriverOptions): Promise<MysqlDriver> {
    const client = await loadClient("MySQL or MariaDB", "mysql2", () => import("mysql2"));
    return new MysqlDriver(client, options, packetBytesMin);
  }

  get member(): string | undefined {
    return this.#member;
  }

  /** Maximum size of a packet, as reported by the server to the connection that was made last. */
  get packetBytesMax(): number {
    return this.#packetBytesMax;
  }

  /** Names new connections for commits after the member: the member that removes it ends them. */
  nameSessions(member: string): void {
    this.#member = member;
    this.#connections.renew(["commits"]);
  }

  async all(query: StatementCall): Promise<readonly Row[]> {
    const queries = literalsOf(query);
    if (queries.length === 0) return [];
    return (await this.send("other", queries)).flatMap(rowsIn);
  }

  async snapshot(queries: readonly StatementCall[]): Promise<readonly (readonly Row[])[]> {
    const selects = queries.map((query) => literalOf(query, bound));
    const results = await this.send("other", [...beginSnapshot, ...selects, "COMMIT"]);
    return queries.map((_, index) => rowsIn(results[beginSnapshot.length + index]));
  }

  /** A single statement is a transaction by itself. */
  async transaction(use: SessionUse, calls: readonly StatementCall[]): Promise<readonly StatementResult[]> {
    const literals = calls.map((call) => literalOf(call, whole));
    if (literals.length === 1) return (await this.send(use, literals)).map(outcomeOf);
    const results = await this.send(use, ["START TRANSACTION", ...literals, "COMMIT"]);
    return results.slice(1, -1).map(outcomeOf);
  }

  async write<Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): Promise<void> {
    await this.writeAfter([], name, columns, items);
  }

  /** Writes the items after opening statements in the same transaction. */
  async writeAfter<Item>(
    opening: readonly StatementName[],
    name: StatementName,
    columns: ColumnList<Item>,
    items: readonly Item[],
  ): Promise<void> {
    if (items.length === 0) return;
    const script = new Script();
    script.add(statements.get(name), rowsOf(columns, items));
    const opened = opening.map((each) => statements.get(each).with());
    const packets = transaction(opened, script, this.#packetBytesMax);
    await this.use("other", async (connection, deadline) => {
      for (const packet of packets) await connection.send(packet, deadline.leftMs);
    });
  }

  /** Sends statements in one packet; returns the result of each. */
  async send(use: SessionUse, script: readonly string[]): Promise<Result[]> {
    const packet = [settings, ...script].join(";");
    const [, ...results] = await this.use(use, (connection, deadline) => connection.send(packet, deadline.leftMs));
    return results;
  }

  /** A caller that waits for something else first passes the deadline of the whole call. */
  async use<Result>(
    use: SessionUse,
    call: (connection: Connection, deadline: Deadline) => Promise<Result>,
    deadline: Deadline = this.deadlineOf(use),
  ): Promise<Result> {
    return await this.#connections.use(use, deadline, (connection) => call(connection, deadline));
  }

  deadlineOf(use: SessionUse): Deadline {
    return this.#connections.deadlineOf(use);
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #connect(use: SessionUse, deadline: Deadline, signal: AbortSignal): Promise<Connection> {
    const named =
      use === "commits" && this.#member !== undefined ? [takeName(this.#member, this.#address.database)] : [];
    const connection = await Connection.open(this.#client, this.#address, deadline.leftMs, signal);
    const abort = (): void => void connection.end();
    signal.addEventListener("abort", abort);
    try {
      const script = [sessionSettings, ...named, "SELECT @@max_allowed_packet AS allowed"].join(";");
      const [row] = rowsIn((await connection.send(script, deadline.leftMs)).at(-1));
      const allowed = row?.["allowed"];
      if (typeof allowed === "number") this.#packetBytesMax = packetBytes(allowed);
      return connection;
    } catch (error) {
      await connection.end();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}

/** A query with a list of integers is several, in the order of the integers, because long lists gain nothing. */
function literalsOf(query: StatementCall): Literal[] {
  const at = query.values.findIndex((value) => isObject(value) && "integers" in value);
  const value = query.values[at];
  if (!isObject(value) || !("integers" in value)) return isEmptyList(query) ? [] : [literalOf(query, bound)];
  const integers = [...new Set(value.integers)].sort((a, b) => a - b);
  const literals: Literal[] = [];
  for (let from = 0; from < integers.length; from += rowsPerStatementMax) {
    const part = { integers: integers.slice(from, from + rowsPerStatementMax) };
    literals.push(literalOf({ name: query.name, values: query.values.with(at, part) }, bound));
  }
  return literals;
}

function isEmptyList({ values }: StatementCall): boolean {
  return values.some((value) => isObject(value) && "texts" in value && value.texts.length === 0);
}

function isObject(value: Value | undefined): value is Exclude<Value, string | number | null> {
  return typeof value === "object" && value !== null;
}

/** Numbers to write must be whole; bounds that rows are compared with may be any. */
function literalOf({ name, values }: StatementCall, number: (value: number) => Literal): Literal {
  const literals = values.map((value) => {
    if (value === null) return nothing;
    if (typeof value === "string") return text(value);
    if (typeof value === "number") return number(value);
    return list("integers" in value ? value.integers.map(whole) : value.texts.map(text));
  });
  return statements.get(name).with(...literals);
}

function rowsIn(result: Result | undefined): readonly Row[] {
  assert(Array.isArray(result), "a query returns rows");
  return result;
}

function outcomeOf(result: Result): StatementResult {
  return Array.isArray(result) ? { rows: result, changes: 0 } : { rows: [], changes: result.affectedRows };
}
