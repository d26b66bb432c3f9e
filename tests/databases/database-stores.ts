import { MysqlStore } from "../../src/stores/mysql/mysql-store.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import type { Store } from "../../src/stores/store.ts";
import type { ServerKind } from "./databases.ts";

const stores = { postgres: PostgresStore, mysql: MysqlStore } as const;

/** With little patience, so that tests of what a store does when it loses it do not last for minutes. */
const littlePatience = { workMs: 6000, heartbeatMs: 2000 };

export function storeAt(kind: ServerKind, url: string, limits = littlePatience): Store {
  return new stores[kind]({ url, limits });
}
