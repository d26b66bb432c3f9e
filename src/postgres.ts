import { PostgresStore } from "./stores/postgres/postgres-store.ts";
import type { Store } from "./stores/store.ts";

/**
 * A store in a PostgreSQL database (13 or newer), shared by all engines that are given the same one: each is a member
 * of one cluster. It needs the package `pg`: `npm install pg`.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { postgres } from "heddle/postgres";
 *
 * const engine = new Engine({ storage: postgres("postgres://user:password@localhost:5432/app") });
 * await engine.start();
 * ```
 *
 * The database must exist; the tables are made when the first engine starts, in a schema of their own.
 */
export function postgres(
  url: string,
  options: {
    /** Schema of the tables; default `heddle`. */
    schema?: string;
    /** Maximum number of connections of each engine: at least 3, default 9. */
    connections?: number;
  } = {},
): Store {
  const { schema, connections } = options;
  return new PostgresStore({ url, schema, connections });
}
