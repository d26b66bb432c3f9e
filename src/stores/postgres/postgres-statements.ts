import { SqlFiles } from "../sql/sql-files.ts";
import { Statements } from "../sql/statements.ts";
import type { Statement } from "./pipeline.ts";

export const sqlFiles = new SqlFiles(import.meta.url);

export type PostgresStatements = Statements<Statement>;

export function loadStatements(): PostgresStatements {
  return new Statements(sqlFiles, (sql, name) => ({ name, sql }));
}
