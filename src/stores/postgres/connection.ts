import type { Client } from "pg";
import { Pipeline } from "./pipeline.ts";
import type { Prepared, Row, Step } from "./pipeline.ts";

/** What is needed of the package `pg`, which is loaded only where a database is opened. */
export interface Driver {
  readonly Client: typeof Client;
}

/** A server that is cut off is noticed in the middle of a call by its limit, and between calls by this. */
const keepAliveMs = 10_000;

/** How long a connection may take to say goodbye. */
const goodbyeMs = 500;

export interface ConnectionOptions {
  readonly url: string;
  /** For logging in, and then for the settings. */
  readonly limitMs: number;
  /** Nobody waits for it any more. */
  readonly signal?: AbortSignal;
  /** SQL. */
  readonly settings?: string;
}

/** Heard nothing for so long that the connection was given up. */
export class NoAnswer extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${Math.ceil(limitMs / 1_000)} seconds`);
  }
}

/**
 * One connection, for one call at a time. It answers or it is given up: no call takes longer than its limit. Whatever
 * went wrong on it, it is not to be used again.
 */
export class Connection {
  readonly #client: Client;
  readonly #prepared: Prepared = new Map();
  #isBusy = false;
  #isLost = false;
  /** Told once, when the server is gone or has ended the connection. */
  onLost: () => void = () => undefined;

  private constructor(client: Client) {
    this.#client = client;
    const lose = (): void => {
      if (this.#isLost) return;
      this.#isLost = true;
      this.onLost();
    };
    // What ails a connection that is in use is told to who uses it, by the call's own error.
    client.on("error", lose);
    client.on("end", lose);
  }

  /** Connects, logs in and runs what every session begins with; throws what the driver throws. */
  static async open(driver: Driver, options: ConnectionOptions): Promise<Connection> {
    const { url, limitMs, signal, settings = "" } = options;
    const client = new driver.Client({
      connectionString: url,
      fallback_application_name: "heddle",
      connectionTimeoutMillis: limitMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
    });
    const connection = new Connection(client);
    const abandon = (): void => void client.connection.stream.destroy();
    signal?.addEventListener("abort", abandon);
    try {
      await client.connect();
      if (settings !== "") await connection.execute(settings, limitMs);
      return connection;
    } catch (error) {
      abandon();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** All of it or nothing; gives the rows of each step. */
  async run(steps: readonly Step[], limitMs: number): Promise<Row[][]> {
    return await this.#within(limitMs, async () => {
      const { promise, resolve, reject } = Promise.withResolvers<Row[][]>();
      const pipeline = new Pipeline(steps, this.#prepared, (error, results) => {
        if (error === undefined) resolve(results);
        else reject(error);
      });
      this.#client.query(pipeline);
      return await promise;
    });
  }

  /** SQL without values, also several statements; gives the rows of the last one as the driver reads them. */
  async execute(sql: string, limitMs: number): Promise<Row[]> {
    return await this.#within(limitMs, async () => {
      const result: unknown = await this.#client.query(sql);
      const last = (Array.isArray(result) ? result.at(-1) : result) as { readonly rows: Row[] };
      return last.rows;
    });
  }

  /** Says goodbye if there is nothing else under way. Always succeeds, also when nobody hears it. */
  async end(): Promise<void> {
    const { stream } = this.#client.connection;
    if (this.#isBusy || this.#isLost) {
      stream.destroy();
      return;
    }
    const timer = setTimeout(() => stream.destroy(), goodbyeMs);
    await this.#client.end();
    clearTimeout(timer);
  }

  async #within<Result>(limitMs: number, call: () => Promise<Result>): Promise<Result> {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new NoAnswer(limitMs));
      this.#client.connection.stream.destroy();
    }, limitMs);
    this.#isBusy = true;
    try {
      return await Promise.race([call(), timeout]);
    } finally {
      this.#isBusy = false;
      clearTimeout(timer);
    }
  }
}
