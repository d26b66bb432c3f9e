import { connect, type Socket } from "node:net";
import type { Connection } from "mysql2";
import { loadDriver } from "./sql-request.ts";

interface Place {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
}

/** A connection to MySQL or MariaDB. What runs on it fails when it breaks or is closed; the driver tells only the connection. */
export class MysqlSession {
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #broken = Promise.withResolvers<never>();

  private constructor(connection: Connection, socket: Socket) {
    this.#connection = connection;
    this.#socket = socket;
    connection.on("error", this.#broken.reject);
    this.#broken.promise.catch(() => undefined);
  }

  /** Begins to connect. */
  static async to(uri: string, connectTimeout: number): Promise<MysqlSession> {
    const { createConnection } = await loadDriver("mysql2", () => import("mysql2"));
    const sockets: Socket[] = [];
    // The socket is ours, because the driver closes only its own end, and waits for a server that is silent.
    const stream = ({ config: { host, port, socketPath } }: { config: Place }): Socket => {
      const socket = socketPath === undefined ? connect(port, host) : connect(socketPath);
      sockets.push(socket.setNoDelay(true));
      return socket;
    };
    const connection = createConnection({ uri, connectTimeout, supportBigNumbers: true, stream });
    const [socket] = sockets;
    if (socket === undefined) throw new Error("the driver of MySQL has opened no connection");
    return new MysqlSession(connection, socket);
  }

  /** The number by which the server knows the session; null until it is connected. */
  get threadId(): number | null {
    return this.#connection.threadId;
  }

  async connect(): Promise<void> {
    const connection = this.#connection;
    await this.#unlessBroken((resolve, reject) => connection.connect((error) => (error ? reject(error) : resolve())));
  }

  /** Runs a statement, and says how many rows it has changed. */
  async run(sql: string, params: readonly unknown[] = [], onRow: (row: object) => void = ignore): Promise<number> {
    let changed = 0;
    await this.#unlessBroken((resolve, reject) => {
      const query = this.#connection.query(sql, params.map(parameterOf));
      query.on("result", (row: object) => {
        if (row.constructor?.name === "ResultSetHeader") changed = (row as { affectedRows: number }).affectedRows;
        else onRow(row);
      });
      query.once("error", reject);
      query.once("end", resolve);
    });
    return changed;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #unlessBroken(begin: (resolve: () => void, reject: (error: unknown) => void) => void): Promise<void> {
    await Promise.race([new Promise<void>(begin), this.#broken.promise]);
  }
}

/** Most statements give no rows. */
function ignore(): void {}

/** The driver would write an object as assignments, and an array as a list. */
function parameterOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
