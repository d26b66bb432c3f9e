import type { BenchStorage } from "./bench-storage.ts";
import { MysqlStorage } from "./mysql-storage.ts";
import { PostgresStorage } from "./postgres-storage.ts";
import { sqliteStorage } from "./sqlite-storage.ts";

/** `sqlite:` for files in temporary folders, or the address of a server and of a user there who may make databases. */
export function storageAt(place: string): BenchStorage {
  const scheme = place.slice(0, place.indexOf(":"));
  switch (scheme) {
    case "sqlite":
      return sqliteStorage;
    case "postgresql":
      return new PostgresStorage(place);
    case "mysql":
      return new MysqlStorage(place);
    default:
      throw new Error(`no storage is called ${scheme}`);
  }
}
