import type { Client } from "pg";
import { Pipeline } from "./pipeline.ts";
import type { PooledConnection } from "../sql/connection-pool.ts";
import { NoAnswer } from "../sql/deadline.ts";
import type { Prepared, Row, BoundStatement } from "./pipeline.ts";

/** The part of the package `pg`, an optional dependency, that is used. */
export interface Driver {
  readonly Client: typeof Client;
}

/** A server that is cut off is detected during a call by its deadline, and between calls by keep-alive probes. */
const keepAliveMs = 10_000;

/** Timeout of a graceful close. */
const goodbyeMs = 500;

export interface ConnectionOptions {
  readonly url: string;
  /** Timeout of the login, and then of the settings. */
  readonly limitMs: number;
  /** Aborts the opening. */
  readonly signal?: AbortSignal;
  /** SQL that runs after the login. */
  readonly settings?: string;
  /** Called for each notification of a channel that the session listens to. */
  readonly onNotified?: () => void;
}

/**
 * One connection, for one call at a time. No call takes longer than its deadline. A connection on which a call failed must
 * not be used again.
 */
export class Connection implements PooledConnection {
  readonly #client: Client;
  readonly #prepared: Prepared = new Map();
  #isBusy = false;
  #isLost = false;
  #onLost: (() => void) | undefined;

  private constructor(client: Client) {
    this.#client = client;
    const lose = (): void => {
      if (this.#isLost) return;
      this.#isLost = true;
      this.#onLost?.();
    };
    // A call on a lost connection fails with its own error.
    client.on("error", lose);
    client.on("end", lose);
  }

  /** Connects, logs in and runs the settings; throws the client's errors. */
  static async open(driver: Driver, options: ConnectionOptions): Promise<Connection> {
    const { url, limitMs, signal, settings = "", onNotified } = options;
    const client = new driver.Client({
      connectionString: url,
      fallback_application_name: "heddle",
      connectionTimeoutMillis: limitMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
    });
    const connection = new Connection(client);
    if (onNotified !== undefined) client.on("notification", onNotified);
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

  onLost(listener: () => void): void {
    this.#onLost = listener;
    if (this.#isLost) listener();
  }

  /** Runs the statements in one transaction and one round trip; returns the rows of each. */
  async run(steps: readonly BoundStatement[], limitMs: number): Promise<Row[][]> {
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

  /** Runs SQL without values, also several statements; returns the rows of the last one as the client reads them. */
  async execute(sql: string, limitMs: number): Promise<Row[]> {
    return await this.#within(limitMs, async () => {
      const result: unknown = await this.#client.query(sql);
      const last = (Array.isArray(result) ? result.at(-1) : result) as { readonly rows: Row[] };
      return last.rows;
    });
  }

  /** Closes the connection, gracefully if no call is under way. Always succeeds. */
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
