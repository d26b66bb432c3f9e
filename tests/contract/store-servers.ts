import { after, before } from "node:test";
import type { Store } from "../../src/stores/store.ts";
import { execute, newDatabase, type ServerKind } from "../databases/databases.ts";
import type { MakeStore } from "./store/subject.ts";

/** Every table of Heddle's in the database but the one that says which version they are. */
const tables: Readonly<Record<ServerKind, string>> = {
  postgres: `SELECT 'heddle.' || tablename AS name FROM pg_tables
    WHERE schemaname = 'heddle' AND tablename <> 'schema_version'`,
  mysql: `SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = database() AND table_name <> 'heddle_schema_version'`,
};

/**
 * Stores on one database of the test server, which is emptied before each: making a new one takes longer than most tests.
 * A test has the database to itself until it has closed its stores.
 */
export function onServer(kind: ServerKind, storeAt: (url: string) => Store): MakeStore {
  let url = "";
  let drop = async (): Promise<void> => undefined;
  const open = async (): Promise<Store> => {
    const store = storeAt(url);
    await store.open();
    return store;
  };
  before(async () => {
    url = await newDatabase(kind, { after: (work) => void (drop = work) });
    await (await open()).close();
  });
  after(() => drop());
  return async () => {
    const found = (await execute(url, tables[kind])) as { name: string }[];
    await execute(url, ...found.map(({ name }) => `DELETE FROM ${name}`));
    const store = await open();
    const reopen = async (): Promise<Store> => {
      await store.close();
      return await open();
    };
    return { store, reopen, connect: open };
  };
}
