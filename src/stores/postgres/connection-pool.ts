import { type Connection, NoAnswer } from "./connection.ts";
import { sqlStateOf } from "./faults.ts";
import type { Row, Step } from "./pipeline.ts";

export interface PoolOptions {
  /** How many connections there are at most; they are made when they are needed. */
  readonly size: number;
  /** How long a call may take, with waiting for a connection and making it. */
  readonly limitMs: number;
  readonly connect: (options: { name: string; signal: AbortSignal }) => Promise<Connection>;
}

/** A call that waits until a connection is free, or another one is made. */
interface Waiting {
  readonly take: (connection: Connection) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Some connections for calls of one kind. A call takes one that is free, makes one if there may be another, or waits.
 * A connection on which anything failed is not used again.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** Those that are made, with the name each was made under. */
  readonly #open = new Map<Connection, string>();
  readonly #idle: Connection[] = [];
  readonly #waiting: Waiting[] = [];
  #making = 0;
  #name: string;
  readonly #closing = new AbortController();

  /** The name is what the server calls `application_name`. */
  constructor(options: PoolOptions, name: string) {
    this.#options = options;
    this.#name = name;
  }

  /** All of it or nothing; gives the rows of each step. */
  async run(steps: readonly Step[]): Promise<Row[][]> {
    const until = performance.now() + this.#options.limitMs;
    const connection = this.#idle.pop() ?? (await this.#wait(until));
    try {
      const rows = await connection.run(steps, until - performance.now());
      this.#giveBack(connection);
      return rows;
    } catch (error) {
      this.#giveUp(connection, error);
      throw error;
    }
  }

  /** Calls from now on are made under this name. */
  rename(name: string): void {
    this.#name = name;
    for (const connection of this.#idle.splice(0)) this.#end(connection);
  }

  /** What is under way fails. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { fail } of this.#waiting.splice(0)) fail(new Error("the store was closed"));
    const connections = [...this.#open.keys()];
    this.#open.clear();
    this.#idle.length = 0;
    await Promise.all(connections.map((connection) => connection.end()));
  }

  async #wait(until: number): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const waiting: Waiting = { take: resolve, fail: reject };
    this.#waiting.push(waiting);
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      reject(new NoAnswer(this.#options.limitMs));
    }, until - performance.now());
    this.#makeMore();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** As many as are waited for and allowed. */
  #makeMore(): void {
    while (this.#waiting.length > this.#making && this.#open.size + this.#making < this.#options.size)
      void this.#make();
  }

  /** For whoever has waited longest; it is also told if it fails. */
  async #make(): Promise<void> {
    const name = this.#name;
    this.#making += 1;
    try {
      const connection = await this.#options.connect({ name, signal: this.#closing.signal });
      connection.onLost = () => this.#lost(connection);
      this.#open.set(connection, name);
      this.#making -= 1;
      this.#giveBack(connection);
    } catch (error) {
      this.#making -= 1;
      this.#waiting.shift()?.fail(error);
      this.#makeMore();
    }
  }

  #giveBack(connection: Connection): void {
    if (this.#closing.signal.aborted || connection.isLost || this.#open.get(connection) !== this.#name) {
      this.#end(connection);
      return;
    }
    const next = this.#waiting.shift();
    if (next) next.take(connection);
    else this.#idle.push(connection);
  }

  #giveUp(connection: Connection, error: unknown): void {
    // Unless it was an answer, the way to the server is broken, and most likely for the others too.
    if (sqlStateOf(error) === undefined) for (const idle of this.#idle.splice(0)) this.#end(idle);
    this.#end(connection);
  }

  /** The server has ended it. If it is in use, its call is told. */
  #lost(connection: Connection): void {
    const index = this.#idle.indexOf(connection);
    if (index < 0) return;
    this.#idle.splice(index, 1);
    this.#end(connection);
  }

  #end(connection: Connection): void {
    this.#open.delete(connection);
    void connection.end();
    this.#makeMore();
  }
}
