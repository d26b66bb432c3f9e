import { EngineError } from "../../base/error.ts";
import { ConnectionPool, type PooledConnection } from "./connection-pool.ts";
import { Deadline } from "./deadline.ts";
import type { SessionUse } from "./sql-driver.ts";

/** Minimum number of connections: one for each use. */
const connectionsMin = 3;

/** Deadlines of calls, whatever happens. */
export interface Limits {
  readonly workMs: number;
  /** Deadline of a heartbeat, which must arrive before other members remove this one. */
  readonly heartbeatMs: number;
}

export const connectionsDefault = 9;
export const limitsDefault: Limits = { workMs: 30_000, heartbeatMs: 10_000 };

export interface ConnectionsOptions<Connection> {
  /** Maximum number of connections in all. */
  readonly size: number;
  readonly limits: Limits;
  /** Maximum number of connections for commits, in place of half of all. */
  readonly commitsMax?: number;
  readonly connect: (use: SessionUse, deadline: Deadline, signal: AbortSignal) => Promise<Connection>;
  readonly isAnswer: (error: unknown) => boolean;
}

/** The connections of a store, in one pool for each use: heartbeats have a connection of their own. */
export class Connections<Connection extends PooledConnection> {
  readonly #pools: Readonly<Record<SessionUse, ConnectionPool<Connection>>>;
  readonly #limits: Limits;

  constructor({ size, limits, commitsMax = size, connect, isAnswer }: ConnectionsOptions<Connection>) {
    const pool = (use: SessionUse, share: number): ConnectionPool<Connection> =>
      new ConnectionPool({ size: share, isAnswer, connect: (deadline, signal) => connect(use, deadline, signal) });
    const forCommits = Math.min(commitConnections(size), commitsMax);
    this.#limits = limits;
    this.#pools = {
      commits: pool("commits", forCommits),
      other: pool("other", size - 1 - forCommits),
      heartbeats: pool("heartbeats", 1),
    };
  }

  /** The deadline of a call that begins now. */
  deadlineOf(use: SessionUse): Deadline {
    return new Deadline(use === "heartbeats" ? this.#limits.heartbeatMs : this.#limits.workMs);
  }

  async use<Result>(
    use: SessionUse,
    deadline: Deadline,
    call: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    return await this.#pools[use].use(deadline, call);
  }

  /** Calls of these uses that begin from now on get new connections. */
  renew(uses: readonly SessionUse[]): void {
    for (const use of uses) this.#pools[use].renew();
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }
}

/** Returns the number of connections that are for commits. */
export function commitConnections(size: number): number {
  return Math.floor((size - 1) / 2);
}

export function checkConnections(size: number): void {
  if (Number.isInteger(size) && size >= connectionsMin) return;
  throw new EngineError(
    "OPTION_INVALID",
    `the store needs a whole number of connections, at least ${connectionsMin}, got ${JSON.stringify(size)}`,
  );
}

/** Loads the package of a database's client, which is installed only by those who need it. */
export async function loadClient<Client>(server: string, name: string, load: () => Promise<Client>): Promise<Client> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new EngineError(
      "OPTION_INVALID",
      `${server} needs the package ${name}, which is not installed; run npm install ${name}`,
      { cause: error },
    );
  }
}
