import { messageOf } from "../base/error.ts";
import { loadDriver, type RunSql, sqlFailure } from "./sql-request.ts";
import { SqlRows } from "./sql-rows.ts";

export const runOnMysql: RunSql = async (request, signal) => {
  const { createConnection } = await loadDriver("mysql2", () => import("mysql2"));
  const uri = request.url.replace(/^mariadb:/, "mysql:");
  const connection = createConnection({ uri, connectTimeout: 30_000, supportBigNumbers: true });
  // A connection that breaks fails the statement that uses it.
  connection.on("error", () => undefined);
  const cancel = (): void => void killQuery(uri, connection.threadId).finally(() => connection.destroy());
  const run = (sql: string, params: readonly unknown[], onRow: (row: object) => void): Promise<number> =>
    new Promise((resolve, reject) => {
      let changed = 0;
      const query = connection.query(sql, params.map(parameterOf));
      query.on("result", (row: object) => {
        if (row.constructor?.name === "ResultSetHeader") changed = (row as { affectedRows: number }).affectedRows;
        else onRow(row);
      });
      query.once("error", reject);
      query.once("end", () => resolve(changed));
    });
  try {
    await new Promise<void>((resolve, reject) => connection.connect((error) => (error ? reject(error) : resolve())));
    signal.throwIfAborted();
    signal.addEventListener("abort", cancel, { once: true });
    await run(request.readOnly ? "START TRANSACTION READ ONLY" : "START TRANSACTION", [], ignore);
    let rows = new SqlRows(request);
    let changed = 0;
    for (const { sql, params } of request.statements) {
      rows = new SqlRows(request);
      changed = await run(sql, params, (row) => rows.add(row));
    }
    signal.throwIfAborted();
    await run("COMMIT", [], ignore);
    return { rows: rows.rows, rowCount: rows.count > 0 ? rows.count : changed };
  } catch (error) {
    signal.throwIfAborted();
    throw sqlFailure(messageOf(error), (error as { sqlState?: string }).sqlState);
  } finally {
    signal.removeEventListener("abort", cancel);
    connection.destroy();
  }
};

/** Statements around the transaction give no rows. */
function ignore(): void {}

/** The driver would write an object as assignments, and an array as a list. */
function parameterOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

/** A statement goes on while its client is gone, so the server is told. */
async function killQuery(uri: string, threadId: number | null): Promise<void> {
  if (threadId === null) return;
  const { createConnection } = await loadDriver("mysql2", () => import("mysql2/promise"));
  try {
    const other = await createConnection({ uri, connectTimeout: 5000 });
    await other.query(`KILL QUERY ${threadId}`);
    other.destroy();
  } catch {
    // The statement ends with its connection.
  }
}
