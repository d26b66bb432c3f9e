import { readdirSync, readFileSync } from "node:fs";

const queriesFolder = new URL("./queries/", import.meta.url);
const migrationsFolder = new URL("./migrations/", import.meta.url);

export function readQuery(name: string): string {
  return readFileSync(new URL(`${name}.sql`, queriesFolder), "utf8");
}

export interface Migration {
  /** The schema's version once it has run. */
  readonly version: number;
  readonly sql: string;
}

/** In the order they run: `0001_*.sql` first. */
export function readMigrations(): Migration[] {
  const names = readdirSync(migrationsFolder).filter((name) => name.endsWith(".sql"));
  return names.toSorted().map((name) => ({
    version: Number.parseInt(name, 10),
    sql: readFileSync(new URL(name, migrationsFolder), "utf8"),
  }));
}
