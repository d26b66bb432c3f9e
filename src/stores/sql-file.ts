import { readdirSync, readFileSync } from "node:fs";

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
    return names.toSorted().map((name) => ({
      version: Number.parseInt(name, 10),
      sql: readFileSync(new URL(name, folder), "utf8"),
    }));
  }
}
