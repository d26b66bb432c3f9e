import { type Deadline, NoAnswer } from "./deadline.ts";

/** A connection to a server, for one call at a time. */
export interface PooledConnection {
  /** The server is gone, or has ended the connection. */
  readonly isLost: boolean;
  /** Calls the listener once, when the connection is lost. */
  onLost(listener: () => void): void;
  /** Closes the connection; a call on it fails. Never throws. */
  end(): Promise<void>;
}

export interface PoolOptions<Connection> {
  /** Maximum number of connections; they are made when they are needed. */
  readonly size: number;
  readonly connect: (deadline: Deadline, signal: AbortSignal) => Promise<Connection>;
  /** Returns whether an error is an answer of the server. After any other error the idle connections are closed too. */
  readonly isAnswer: (error: unknown) => boolean;
}

/** A call that waits for its turn. */
interface Waiter {
  readonly proceed: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Connections for calls of one use. A call waits for its turn, takes an idle connection or makes one, and returns it.
 *
 * - P1: at most `size` calls have a turn, so there are at most `size` connections.
 * - P2: turns are given in the order of the calls.
 * - P3: a connection on which a call failed is never used again.
 */
export class ConnectionPool<Connection extends PooledConnection> {
  readonly #options: PoolOptions<Connection>;
  /** Number of calls that may begin at once. A call that ends hands its turn to the first waiter. */
  #turns: number;
  readonly #waiters = new Set<Waiter>();
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  /** Connections to end when they are returned. */
  readonly #outdated = new WeakSet<Connection>();
  readonly #closing = new AbortController();

  constructor(options: PoolOptions<Connection>) {
    this.#options = options;
    this.#turns = options.size;
  }

  async use<Result>(deadline: Deadline, call: (connection: Connection) => Promise<Result>): Promise<Result> {
    if (this.#turns > 0) this.#turns -= 1;
    else await this.#waitForTurn(deadline);
    try {
      this.#closing.signal.throwIfAborted();
      const connection = this.#idle.pop() ?? (await this.#connect(deadline));
      return await this.#lend(connection, call);
    } catch (error) {
      if (!this.#options.isAnswer(error)) this.#endIdle();
      throw error;
    } finally {
      this.#endTurn();
    }
  }

  /** Calls that begin from now on get new connections. */
  renew(): void {
    this.#endIdle();
    for (const connection of this.#busy) this.#outdated.add(connection);
  }

  /** Calls that are under way fail. */
  async close(): Promise<void> {
    const closed = new Error("the store was closed");
    this.#closing.abort(closed);
    for (const { fail } of this.#waiters) fail(closed);
    this.#waiters.clear();
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map((connection) => connection.end()));
  }

  async #lend<Result>(connection: Connection, call: (connection: Connection) => Promise<Result>): Promise<Result> {
    this.#busy.add(connection);
    let isReusable = false;
    try {
      const result = await call(connection);
      isReusable = !connection.isLost && !this.#outdated.has(connection) && !this.#closing.signal.aborted;
      return result;
    } finally {
      this.#busy.delete(connection);
      if (isReusable) this.#idle.push(connection);
      else void connection.end();
    }
  }

  async #connect(deadline: Deadline): Promise<Connection> {
    const connection = await this.#options.connect(deadline, this.#closing.signal);
    connection.onLost(() => {
      const index = this.#idle.indexOf(connection);
      if (index !== -1) this.#idle.splice(index, 1);
    });
    return connection;
  }

  #endIdle(): void {
    for (const connection of this.#idle.splice(0)) void connection.end();
  }

  async #waitForTurn(deadline: Deadline): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { proceed: resolve, fail: reject };
    this.#waiters.add(waiter);
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter);
      reject(new NoAnswer(deadline.limitMs));
    }, deadline.leftMs);
    await promise.finally(() => clearTimeout(timer));
  }

  #endTurn(): void {
    const [next] = this.#waiters;
    if (next === undefined) {
      this.#turns += 1;
      return;
    }
    this.#waiters.delete(next);
    next.proceed();
  }
}
