import { SqlFiles } from "../sql-file.ts";
import type { Literal } from "./literal.ts";

export const sqlFiles = new SqlFiles(import.meta.url);

/** SQL of one file, with places `?1`, `?2` … for values. */
export class Statement {
  /** SQL, the number of a place, SQL, the number of a place, and so on. */
  readonly #pieces: readonly string[];

  /** By the name of its file. */
  constructor(name: string) {
    const sql = sqlFiles.query(name).replace(/^--.*\n/gm, "");
    this.#pieces = sql.trim().split(/\?(\d)/);
  }

  with(...values: readonly Literal[]): Literal {
    let sql = this.#pieces[0] ?? "";
    for (let i = 1; i < this.#pieces.length; i += 2)
      sql += `${values[Number(this.#pieces[i]) - 1]}${this.#pieces[i + 1]}`;
    return sql as Literal;
  }
}
