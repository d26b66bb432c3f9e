import { EngineError } from "../../base/error.ts";
import type { Address } from "./address.ts";
import { Connection, type Driver } from "./connection.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { openDatabase, sessionSettings } from "./database.ts";
import { packetBytes } from "./server.ts";
import { takeName } from "./session-name.ts";

/** Commits, signs of life, and everything else. */
export type Use = "commits" | "life" | "rest";

/** One of each use: the least there can be. */
export const connectionsMin = 3;

/** The runtime has few commits under way at a time. */
const commitsMax = 8;

/** How long a call may take, whatever happens. */
export interface Limits {
  readonly workMs: number;
  /** Of a sign of life: it has to be heard before others lose patience. */
  readonly lifeMs: number;
}

export interface ConnectionsOptions {
  readonly address: Address;
  /** How many connections there are at most, in all. */
  readonly size: number;
  readonly limits: Limits;
}

/**
 * All connections of a store. Commits do not wait for reads, nor reads for commits, and signs of life, which have a
 * connection of their own, for neither.
 */
export class Connections {
  readonly #driver: Driver;
  readonly #address: Address;
  readonly #pools: Readonly<Record<Use, ConnectionPool>>;
  readonly #limits: Limits;
  #packetBytesMax: number;
  /** The one that joined last through this store. */
  #member: string | undefined;

  private constructor(driver: Driver, options: ConnectionsOptions, packetBytesMax: number) {
    const { address, size, limits } = options;
    this.#driver = driver;
    this.#address = address;
    const forCommits = Math.min(Math.floor((size - 1) / 2), commitsMax);
    const connect = (limitMs: number, signal: AbortSignal): Promise<Connection> => this.#connect(limitMs, signal);
    this.#pools = {
      commits: new ConnectionPool({
        size: forCommits,
        connect: (limitMs, signal) => this.#connectNamed(limitMs, signal),
      }),
      rest: new ConnectionPool({ size: size - 1 - forCommits, connect }),
      life: new ConnectionPool({ size: 1, connect }),
    };
    this.#limits = limits;
    this.#packetBytesMax = packetBytesMax;
  }

  /** Checks the server, and brings its tables up to date. */
  static async open(options: ConnectionsOptions): Promise<Connections> {
    const driver = await loadDriver();
    const server = await openDatabase(driver, options.address, options.limits.workMs);
    return new Connections(driver, options, server.packetBytesMax);
  }

  /** What the server takes in at once, as it told the connection that was made last. */
  get packetBytesMax(): number {
    return this.#packetBytesMax;
  }

  /** When a call of that use that begins now has to be over, on the clock of `performance.now`. */
  untilOf(use: Use): number {
    return performance.now() + (use === "life" ? this.#limits.lifeMs : this.#limits.workMs);
  }

  async use<R>(use: Use, until: number, work: (connection: Connection) => Promise<R>): Promise<R> {
    return await this.#pools[use].use(until, work);
  }

  /** From now on commits are that member's, and ended by whoever removes it. */
  belongTo(member: string): void {
    this.#member = member;
    this.#pools.commits.renew();
  }

  close(): void {
    for (const pool of Object.values(this.#pools)) pool.close();
  }

  async #connectNamed(limitMs: number, signal: AbortSignal): Promise<Connection> {
    const member = this.#member;
    return await this.#connect(limitMs, signal, member === undefined ? [] : [takeName(member, this.#address.database)]);
  }

  async #connect(limitMs: number, signal: AbortSignal, more: readonly string[] = []): Promise<Connection> {
    const until = performance.now() + limitMs;
    const connection = await Connection.open(this.#driver, this.#address, limitMs, signal);
    const abort = (): void => connection.end();
    signal.addEventListener("abort", abort);
    try {
      const text = [sessionSettings, ...more, "SELECT @@max_allowed_packet AS allowed"].join(";");
      const rows = (await connection.send(text, until - performance.now())).at(-1);
      const allowed = Array.isArray(rows) ? rows[0]?.["allowed"] : undefined;
      if (typeof allowed === "number") this.#packetBytesMax = packetBytes(allowed);
      return connection;
    } catch (error) {
      connection.end();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import("mysql2");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new EngineError(
      "OPTION_INVALID",
      "MySQL and MariaDB are reached through the package mysql2, which is not installed, run npm install mysql2.",
      { cause: error },
    );
  }
}
