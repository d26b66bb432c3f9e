import { type Connection, NoAnswer } from "./connection.ts";

export interface PoolOptions {
  /** How many connections there are at most; they are made when they are needed. */
  readonly size: number;
  readonly connect: (limitMs: number, signal: AbortSignal) => Promise<Connection>;
}

/** A call that waits for its turn. */
interface Waiting {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Some connections for calls of one kind. A call waits for its turn, takes a connection that is idle or makes one, and
 * gives it back. A connection on which anything failed is not used again.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** How many calls may still begin. One that ends hands its place to the next that waits. */
  #places: number;
  readonly #waiting = new Set<Waiting>();
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  /** Those that are made anew when they are given back. */
  readonly #outdated = new WeakSet<Connection>();
  readonly #closing = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#places = options.size;
  }

  /** `until` is on the clock of `performance.now`; waiting for a connection, and making it, is part of the call. */
  async use<R>(until: number, work: (connection: Connection) => Promise<R>): Promise<R> {
    if (this.#places > 0) this.#places -= 1;
    else await this.#turn(until);
    try {
      this.#closing.signal.throwIfAborted();
      const connection = this.#idle.pop() ?? (await this.#connect(until));
      return await this.#lend(connection, work);
    } finally {
      this.#leave();
    }
  }

  /** No call that begins from now on gets a connection that is there now. */
  renew(): void {
    for (const connection of this.#idle.splice(0)) connection.end();
    for (const connection of this.#busy) this.#outdated.add(connection);
  }

  /** Whatever is under way fails. */
  close(): void {
    const closed = new Error("the store was closed");
    this.#closing.abort(closed);
    for (const { fail } of this.#waiting) fail(closed);
    this.#waiting.clear();
    for (const connection of [...this.#idle.splice(0), ...this.#busy]) connection.end();
  }

  async #lend<R>(connection: Connection, work: (connection: Connection) => Promise<R>): Promise<R> {
    this.#busy.add(connection);
    let isWell = false;
    try {
      const result = await work(connection);
      isWell = !connection.isLost && !this.#outdated.has(connection);
      return result;
    } finally {
      this.#busy.delete(connection);
      if (isWell && !this.#closing.signal.aborted) this.#idle.push(connection);
      else connection.end();
    }
  }

  async #connect(until: number): Promise<Connection> {
    const connection = await this.#options.connect(until - performance.now(), this.#closing.signal);
    connection.onLost(() => {
      const at = this.#idle.indexOf(connection);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    return connection;
  }

  async #turn(until: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { go: resolve, fail: reject };
    this.#waiting.add(waiting);
    const limitMs = Math.max(0, until - performance.now());
    const timer = setTimeout(() => {
      this.#waiting.delete(waiting);
      reject(new NoAnswer());
    }, limitMs);
    await promise.finally(() => clearTimeout(timer));
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#places += 1;
      return;
    }
    this.#waiting.delete(next);
    next.go();
  }
}
