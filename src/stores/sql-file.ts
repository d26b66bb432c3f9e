import { readdirSync, readFileSync } from "node:fs";
import { assert } from "../base/assert.ts";

export interface Migration {
  /** The schema's version once it has run. */
  readonly version: number;
  readonly sql: string;
}

/** The SQL of one kind of database, in the folders beside its code. */
export class SqlFiles {
  readonly #folder: URL;

  /** `import.meta.url` of a file beside the folders. */
  constructor(beside: string) {
    this.#folder = new URL(".", beside);
  }

  query(name: string): string {
    return readFileSync(new URL(`queries/${name}.sql`, this.#folder), "utf8");
  }

  /** In the order they run: `0001_*.sql` first. */
  migrations(): Migration[] {
    const folder = new URL("migrations/", this.#folder);
    const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
    return names.toSorted().map((name, place) => {
      const version = Number.parseInt(name, 10);
      assert(version === place + 1, `migrations are numbered without gaps and without doubles: ${name}`);
      return { version, sql: readFileSync(new URL(name, folder), "utf8") };
    });
  }
}
