import { Bug } from "../../base/assert.ts";
import type { SqlFiles } from "./sql-files.ts";

/**
 * Name of a statement: that of its file in `queries/`, without the extension. tests/stores/statements.test.ts checks that
 * every name in the code has its file, and that every file is used.
 */
export type StatementName = `${string}-${string}`;

/** The statements of one database, one for each file in its `queries/`. */
export class Statements<Statement> {
  readonly #byName = new Map<string, Statement>();

  constructor(files: SqlFiles, prepare: (sql: string, name: string) => Statement) {
    for (const [name, sql] of files.queries()) this.#byName.set(name, prepare(sql, name));
  }

  get(name: StatementName): Statement {
    const statement = this.#byName.get(name);
    if (statement === undefined) throw new Bug(`queries/ has no file ${name}.sql`);
    return statement;
  }

  all(): Statement[] {
    return [...this.#byName.values()];
  }
}
