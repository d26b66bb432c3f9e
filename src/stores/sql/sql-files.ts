import { readdirSync, readFileSync } from "node:fs";
import { assert } from "../../base/assert.ts";

export interface Migration {
  /** Version of the schema after the migration has run. */
  readonly version: number;
  readonly sql: string;
}

/** Version of the first migration. Databases of version 1 have a layout that was never released. */
const firstVersion = 2;

/** Reads the SQL of one database from `queries/` and `migrations/` beside its code. */
export class SqlFiles {
  readonly #folder: URL;

  /** Takes `import.meta.url` of a file beside the folders. */
  constructor(beside: string) {
    this.#folder = new URL(".", beside);
  }

  /** Returns the SQL of every statement by its name, which is that of its file without the extension. */
  queries(): Map<string, string> {
    const folder = new URL("queries/", this.#folder);
    return new Map(namesIn(folder).map((name) => [name.slice(0, -".sql".length), readIn(folder, name)]));
  }

  /** Returns the migrations in the order they run: `0002_*.sql` first. */
  migrations(): Migration[] {
    const folder = new URL("migrations/", this.#folder);
    return namesIn(folder).map((name, place) => {
      const version = Number.parseInt(name, 10);
      assert(version === place + firstVersion, `migrations are numbered without gaps and without duplicates: ${name}`);
      return { version, sql: readIn(folder, name) };
    });
  }
}

function namesIn(folder: URL): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
}

function readIn(folder: URL, name: string): string {
  return readFileSync(new URL(name, folder), "utf8");
}
