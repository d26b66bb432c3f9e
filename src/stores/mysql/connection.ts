import { connect, type Socket } from "node:net";
import type * as mysql2 from "mysql2";
import type { PooledConnection } from "../sql/connection-pool.ts";
import { NoAnswer } from "../sql/deadline.ts";
import type { MysqlAddress } from "./address.ts";

/** The package `mysql2`, an optional dependency. */
export type Driver = Pick<typeof mysql2, "createConnection">;

export type Row = Record<string, unknown>;

/** Result of a statement: rows, or the number of rows it changed. */
export type Result = Row[] | { readonly affectedRows: number };

/** A server that is cut off is detected during a call by its deadline, and between calls by keep-alive probes. */
const keepAliveMs = 10_000;

/**
 * The protocol sends a packet in pieces of this many bytes. For a packet up to `miscountedBytes` shorter than a multiple,
 * the client sends one piece too many, after which the server ends the connection.
 */
const pieceBytes = 2 ** 24 - 1;
const miscountedBytes = 16;

/**
 * One connection, for one call at a time. No call takes longer than its deadline. A connection on which a call failed must
 * not be used again.
 */
export class Connection implements PooledConnection {
  readonly #client: mysql2.Connection;
  readonly #socket: Socket;
  #onLost: (() => void) | undefined;
  #isBusy = false;

  private constructor(client: mysql2.Connection, socket: Socket) {
    this.#client = client;
    this.#socket = socket;
    // A call on a lost connection fails with its own error.
    client.on("error", () => this.#lose());
    socket.on("close", () => this.#lose());
  }

  /** Connects and logs in; throws what the driver throws, or the reason of the signal. */
  static async open(driver: Driver, address: MysqlAddress, limitMs: number, signal?: AbortSignal): Promise<Connection> {
    // The socket is our own, because the client's way to abandon a connection waits for the server.
    const socket = connect(
      address.socketPath === undefined ? { host: address.host, port: address.port } : { path: address.socketPath },
    );
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const client = driver.createConnection({
      stream: () => socket,
      host: address.host,
      port: address.port,
      user: address.user,
      password: address.password,
      database: address.database,
      ...(address.tls && { ssl: address.tls }),
      charset: "utf8mb4",
      multipleStatements: true,
      flags: ["-LOCAL_FILES", "-SESSION_TRACK"],
      // Values are in the text already; a question mark is not a placeholder.
      queryFormat: (sql: string) => sql,
      connectTimeout: 0,
    });
    const connection = new Connection(client, socket);
    const timer = setTimeout(() => reject(new NoAnswer(limitMs)), limitMs);
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    client.connect((error) => (error ? reject(error) : resolve(connection)));
    try {
      return await promise;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  get isLost(): boolean {
    return this.#socket.destroyed;
  }

  onLost(listener: () => void): void {
    this.#onLost = listener;
    if (this.isLost) this.#lose();
  }

  /** Sends several statements; returns the result of each. An error stops them where it occurs. */
  async send(text: string, limitMs: number): Promise<Result[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Result[]>();
    const timer = setTimeout(() => {
      reject(new NoAnswer(limitMs));
      this.#socket.destroy();
    }, limitMs);
    this.#isBusy = true;
    this.#client.query(wellCounted(text), (error: mysql2.QueryError | null, results: unknown) => {
      if (error) reject(withoutText(error));
      else resolve(results as Result[]);
    });
    try {
      return await promise;
    } finally {
      this.#isBusy = false;
      clearTimeout(timer);
    }
  }

  /** Closes the connection without waiting for the server; a call that is under way fails. */
  async end(): Promise<void> {
    this.#onLost = undefined;
    if (this.#isBusy || this.isLost) {
      this.#socket.destroy();
      return;
    }
    this.#client.end();
    this.#socket.destroySoon();
  }

  #lose(): void {
    this.#socket.destroy();
    this.#onLost?.();
    this.#onLost = undefined;
  }
}

function wellCounted(text: string): string {
  const isShort = text.length * 3 < pieceBytes - miscountedBytes;
  if (isShort || Buffer.byteLength(text) % pieceBytes < pieceBytes - miscountedBytes) return text;
  return text + " ".repeat(miscountedBytes);
}

/** Removes the SQL from an error of the client, because it contains the data of users. */
function withoutText(error: mysql2.QueryError): mysql2.QueryError {
  delete (error as { sql?: string }).sql;
  return error;
}
