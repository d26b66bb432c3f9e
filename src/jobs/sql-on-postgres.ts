import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/error.ts";
import { loadDriver, type RunSql, sqlFailure } from "./sql-request.ts";
import { SqlRows } from "./sql-rows.ts";

/** A server that does not close its end in this time is left. */
const goodbyeMs = 1000;
const cancelMs = 5000;

export const runOnPostgres: RunSql = async (request, signal) => {
  const { default: pg } = await loadDriver("pg", () => import("pg"));
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: request.url,
    connectionTimeoutMillis: 30_000,
    stream: () => socket,
  });
  // A connection that breaks fails the statement that uses it.
  client.on("error", () => undefined);
  let pid: number | undefined;
  const cancel = (): void => void cancelBackend(request.url, pid).then(() => socket.destroy());
  signal.addEventListener("abort", cancel, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect();
    const { rows: found } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    pid = found[0]?.pid;
    signal.throwIfAborted();
    await client.query(request.readOnly ? "BEGIN READ ONLY" : "BEGIN");
    let rows = new SqlRows(request);
    let changed = 0;
    for (const { sql, params } of request.statements) {
      rows = new SqlRows(request);
      const query = client.query(new pg.Query(sql, [...params]));
      query.on("row", (row) => rows.add(row as object));
      changed = await new Promise<number>((resolve, reject) => {
        query.once("end", (result) => resolve((result as { rowCount: number | null }).rowCount ?? 0));
        query.once("error", reject);
      });
    }
    signal.throwIfAborted();
    await client.query("COMMIT");
    return { rows: rows.rows, rowCount: rows.count > 0 ? rows.count : changed };
  } catch (error) {
    signal.throwIfAborted();
    throw sqlFailure(messageOf(error), (error as { code?: string }).code);
  } finally {
    signal.removeEventListener("abort", cancel);
    await Promise.race([client.end().catch(() => undefined), delay(goodbyeMs, undefined, { ref: false })]);
    socket.destroy();
  }
};

/** A statement goes on while its client is gone, so the server is told. */
async function cancelBackend(url: string, pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  const { default: pg } = await loadDriver("pg", () => import("pg"));
  const socket = new Socket();
  const other = new pg.Client({ connectionString: url, connectionTimeoutMillis: cancelMs, stream: () => socket });
  other.on("error", () => undefined);
  const timer = setTimeout(() => socket.destroy(), cancelMs);
  try {
    await other.connect();
    await other.query("SELECT pg_cancel_backend($1)", [pid]);
  } catch {
    // The statement ends with its connection, or at the server's own timeout.
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
