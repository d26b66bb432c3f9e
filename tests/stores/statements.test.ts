import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

const stores = join(import.meta.dirname, "../../src/stores");

/** Literals of the shape of a statement's name that are something else. */
const otherLiterals: readonly string[] = ["ssl-mode", "ssl-ca"];

interface Findings {
  /** Files of `queries/` that no code names. */
  readonly unused: string[];
  /** Names in the code that have no file. */
  readonly missing: string[];
}

/** A literal in kebab-case names a statement: in the code of the database, or in the code that all of them share. */
function compare(files: readonly string[], sources: readonly string[]): Findings {
  const literals = sources.flatMap((source) =>
    Array.from(source.matchAll(/"([a-z]+(?:-[a-z]+)+)"/g), ([, name]) => name),
  );
  const named = new Set(literals.flatMap((name) => (name === undefined || otherLiterals.includes(name) ? [] : name)));
  return {
    unused: files.filter((file) => !named.has(file)),
    missing: [...named].filter((name) => !files.includes(name)),
  };
}

function sourcesIn(folder: string): string[] {
  const files = globSync(`${folder}/*.ts`, { cwd: stores }).filter((file) => !file.endsWith(".test.ts"));
  assert.ok(files.length > 0);
  return files.map((file) => readFileSync(join(stores, file), "utf8"));
}

describe("statements", () => {
  for (const database of ["sqlite", "postgres", "mysql"]) {
    test(`of ${database} are those that the code names`, () => {
      const files = globSync(`${database}/queries/*.sql`, { cwd: stores }).map((file) => file.slice(0, -".sql".length));
      const names = files.map((file) => file.slice(`${database}/queries/`.length));
      assert.ok(names.length > 50);
      const listing = readFileSync(join(stores, "listing.ts"), "utf8");
      const sources = [...sourcesIn(database), ...sourcesIn("sql"), listing];
      assert.deepEqual(compare(names, sources), { unused: [], missing: [] });
    });
  }

  test("that nobody uses, and names without a file, are found", () => {
    const sources = ['this.all("load-jobs", [])', 'statements.get("load-job")'];
    assert.deepEqual(compare(["load-jobs", "load-members"], sources), {
      unused: ["load-members"],
      missing: ["load-job"],
    });
  });

  /** Values are passed by position, and columns are read by name, by code that all databases share. */
  for (const database of ["postgres", "mysql"]) {
    test(`of ${database} write and read the columns that those of sqlite do, in the same order`, () => {
      const different = globSync("*.sql", { cwd: join(stores, "sqlite/queries") }).flatMap((file) => {
        const [ours, theirs] = [columnsIn("sqlite", file), columnsIn(database, file)];
        return theirs === undefined || theirs === ours ? [] : [`${file}: ${theirs}`];
      });
      assert.deepEqual(different, unlike[database]);
    });
  }
});

/** Statements that differ on purpose. */
const unlike: Readonly<Record<string, readonly string[]>> = {
  // PostgreSQL draws the number itself; MySQL looks at the topic in its WHERE.
  postgres: ["insert-definition.sql: save_number, name, version, spec, created_at"],
  mysql: ["find-old-lines.sql: number, at"],
};

/** The columns of an INSERT, or of a plain SELECT with their names. Undefined if the database has no such statement. */
function columnsIn(database: string, file: string): string | undefined {
  const path = join(stores, database, "queries", file);
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, "utf8").replace(/--.*/g, "").replace(/[`"]/g, "").replace(/\s+/g, " ").trim();
  const columns = /INTO \w+ \(([^)]*)\)/.exec(text) ?? /^SELECT ([\w ,]*) FROM/.exec(text);
  return columns?.[1];
}
