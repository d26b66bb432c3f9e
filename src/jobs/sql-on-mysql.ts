import { messageOf } from "../base/error.ts";
import { MysqlSession } from "./mysql-session.ts";
import { type RunSql, sqlFailure } from "./sql-request.ts";
import { SqlRows } from "./sql-rows.ts";

const connectMs = 30_000;
const cancelMs = 5000;

export const runOnMysql: RunSql = async (request, signal) => {
  const uri = request.url.replace(/^mariadb:/, "mysql:");
  const session = await MysqlSession.to(uri, connectMs);
  const cancel = (): void => void killQuery(uri, session.threadId).finally(() => session.close());
  signal.addEventListener("abort", cancel, { once: true });
  try {
    signal.throwIfAborted();
    await session.connect();
    signal.throwIfAborted();
    await session.run(request.readOnly ? "START TRANSACTION READ ONLY" : "START TRANSACTION");
    let rows = new SqlRows(request);
    let changed = 0;
    for (const { sql, params } of request.statements) {
      rows = new SqlRows(request);
      changed = await session.run(sql, params, (row) => rows.add(row));
    }
    signal.throwIfAborted();
    await session.run("COMMIT");
    return { rows: rows.rows, rowCount: rows.count > 0 ? rows.count : changed };
  } catch (error) {
    signal.throwIfAborted();
    throw sqlFailure(messageOf(error), (error as { sqlState?: string }).sqlState);
  } finally {
    signal.removeEventListener("abort", cancel);
    session.close();
  }
};

/** A statement goes on while its client is gone, so the server is told. */
async function killQuery(uri: string, threadId: number | null): Promise<void> {
  if (threadId === null) return;
  const other = await MysqlSession.to(uri, cancelMs);
  const timer = setTimeout(() => other.close(), cancelMs);
  try {
    await other.connect();
    await other.run(`KILL QUERY ${threadId}`);
  } catch {
    // The statement ends with its connection.
  } finally {
    clearTimeout(timer);
    other.close();
  }
}
