import { SqlFiles } from "../sql/sql-files.ts";
import { Statements } from "../sql/statements.ts";
import type { Literal } from "./literal.ts";

export const sqlFiles = new SqlFiles(import.meta.url);

/** SQL of one file, with places `?1`, `?2` … for values. */
export class Statement {
  /** SQL, the number of a place, SQL, the number of a place, and so on. */
  readonly #pieces: readonly string[];

  constructor(sql: string) {
    this.#pieces = sql
      .replace(/^--.*\n/gm, "")
      .trim()
      .split(/\?(\d+)/);
  }

  with(...values: readonly Literal[]): Literal {
    let sql = this.#pieces[0] ?? "";
    for (let i = 1; i < this.#pieces.length; i += 2)
      sql += `${values[Number(this.#pieces[i]) - 1]}${this.#pieces[i + 1]}`;
    return sql as Literal;
  }
}

/** All statements. A `Script` replaces `?1` where it is a list of rows or keys. */
export const statements: Statements<Statement> = new Statements(sqlFiles, (sql) => new Statement(sql));
