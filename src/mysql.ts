import { MysqlStore } from "./stores/mysql/mysql-store.ts";
import type { Store } from "./stores/store.ts";

/**
 * A store in a MySQL (8.0.17 or newer) or MariaDB (10.6 or newer) database, shared by all engines that are given the same
 * one: each is a member of one cluster. It needs the package `mysql2`: `npm install mysql2`.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { mysql } from "heddle/mysql";
 *
 * const engine = new Engine({ storage: mysql("mysql://user:password@localhost:3306/app") });
 * await engine.start();
 * ```
 *
 * The database must exist; the tables are made when the first engine starts, and their names begin with `heddle_`.
 * The URL may end with `?ssl-mode=VERIFY_IDENTITY` (or `VERIFY_CA`, `REQUIRED`), with `ssl-ca=<file>` beside it for an
 * authority of your own, and with `socket=<path>` for a Unix socket.
 */
export function mysql(
  url: string,
  options: {
    /** Maximum number of connections of each engine: at least 3, default 9. */
    connections?: number;
  } = {},
): Store {
  const { connections } = options;
  return new MysqlStore({ url, connections });
}
