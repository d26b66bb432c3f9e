/** The process in which statements on SQLite run: reads a request from standard input, and writes the answer. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { text } from "node:stream/consumers";
import { messageOf } from "../base/error.ts";
import type { SqlAnswer, SqlRequest } from "./sql-request.ts";
import { SqlRows } from "./sql-rows.ts";

/** SQLITE_BUSY and SQLITE_LOCKED; others come again with the next attempt. */
const passingCodes = [5, 6];

function run(request: SqlRequest): SqlAnswer {
  const { url, readOnly, statements } = request;
  const database = new DatabaseSync(url.replace(/^sqlite:/i, ""), { readOnly, timeout: 10_000 });
  database.exec("BEGIN");
  let rows = new SqlRows(request);
  let changed = 0;
  for (const { sql, params } of statements) {
    rows = new SqlRows(request);
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    const given = params.map(parameterOf);
    if (statement.columns().length === 0) changed = Number(statement.run(...given).changes);
    else for (const row of statement.iterate(...given)) rows.add(row);
  }
  database.exec("COMMIT");
  database.close();
  return { rows: rows.rows, rowCount: rows.count > 0 ? rows.count : changed };
}

function parameterOf(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : (value as SQLInputValue);
}

function answerTo(request: SqlRequest): object {
  try {
    return run(request);
  } catch (error) {
    const code = (error as { errcode?: number }).errcode ?? 0;
    return { error: `${messageOf(error)} (SQLite ${code})`, retryable: passingCodes.includes(code & 0xff) };
  }
}

process.stdout.write(JSON.stringify(answerTo(JSON.parse(await text(process.stdin)) as SqlRequest)));
