import { EngineError } from "../../base/error.ts";
import type { Address } from "./address.ts";
import { Connection, type Driver } from "./connection.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { checkRights, checkServer, checkStatements, migrate, sessionSettings } from "./database.ts";
import { isNoRight, quoted } from "./faults.ts";
import { sessionName, type SessionUse } from "./session-name.ts";
import type { Statements } from "./statements.ts";

/** Commits, reads and signs of life: the least there can be. */
export const connectionsMin = 3;

/** How many of all connections are for commits. */
export function commitsOf(size: number): number {
  return Math.floor((size - 1) / 2);
}

export interface ConnectionsOptions {
  readonly address: Address;
  readonly schema: string;
  /** How many connections there are at most, in all. */
  readonly size: number;
  readonly limits: Limits;
}

/** How long a call may take, whatever happens. */
export interface Limits {
  readonly workMs: number;
  /** Of a sign of life: it has to be heard before others lose patience. */
  readonly lifeMs: number;
}

/**
 * All connections of a store. Commits do not wait for reads, nor reads for commits, and signs of life, which have a
 * connection of their own, for neither.
 */
export class Connections {
  readonly #pools: Readonly<Record<SessionUse, ConnectionPool>>;

  private constructor(driver: Driver, { address, schema, size, limits }: ConnectionsOptions) {
    const pool = (use: SessionUse, share: number, limitMs: number): ConnectionPool => {
      const connect = async ({ name, signal }: { name: string; signal: AbortSignal }): Promise<Connection> => {
        const settings = sessionSettings({ schema, name, limitMs });
        return await Connection.open(driver, { url: address.url, limitMs, signal, settings });
      };
      return new ConnectionPool({ size: share, limitMs, connect }, sessionName(use, undefined));
    };
    const forCommits = commitsOf(size);
    this.#pools = {
      commits: pool("commits", forCommits, limits.workMs),
      reads: pool("reads", size - 1 - forCommits, limits.workMs),
      life: pool("life", 1, limits.lifeMs),
    };
  }

  /** Checks the server, brings the tables up to date, and proves that every statement and right is there. */
  static async open(options: ConnectionsOptions, statements: Statements): Promise<Connections> {
    const driver = await loadDriver();
    const { address, schema, limits } = options;
    const database = { address, schema, limitMs: limits.workMs };
    const connection = await logIn(driver, address, limits.workMs);
    try {
      await checkServer(connection, database);
      const settings = sessionSettings({ schema, name: "heddle opening", limitMs: limits.workMs });
      await connection.execute(settings, limits.workMs);
      await migrate(connection, database);
      await checkStatements(connection, database, statements);
      await checkRights(connection, database);
    } finally {
      await connection.end();
    }
    return new Connections(driver, options);
  }

  for(use: SessionUse): ConnectionPool {
    return this.#pools[use];
  }

  /** From now on the sessions are that member's, and ended by whoever removes it. */
  belongTo(member: string): void {
    for (const use of ["commits", "reads", "life"] as const) this.#pools[use].rename(sessionName(use, member));
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }
}

async function logIn(driver: Driver, address: Address, limitMs: number): Promise<Connection> {
  try {
    return await Connection.open(driver, { url: address.url, limitMs });
  } catch (error) {
    if (!isNoRight(error)) throw error;
    const { place, database, user } = address;
    throw new EngineError(
      "STORE_DENIED",
      `The user ${user} may not connect to the database ${place}, run GRANT CONNECT ON DATABASE ${quoted(database)} TO ${quoted(user)}.`,
      { cause: error },
    );
  }
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import("pg");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new EngineError(
      "OPTION_INVALID",
      "PostgreSQL is reached through the package pg, which is not installed, run npm install pg.",
      { cause: error },
    );
  }
}
