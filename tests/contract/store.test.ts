import { join } from "node:path";
import { after } from "node:test";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { storeContract } from "./store/all.ts";
import { equalitySuite } from "./store/equality.ts";
import type { MakeStore, Subject } from "./store/subject.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder({ after });

let files = 0;

const stores: Record<string, MakeStore> = {
  async MemoryStore() {
    const store = new MemoryStore();
    await store.open();
    const reopen = async () => {
      await store.close();
      await store.open();
      return store;
    };
    const connect = async () => {
      const other = store.connect();
      await other.open();
      return other;
    };
    return { store, reopen, connect };
  },

  async "SqliteStore on a file"() {
    files += 1;
    const file = join(folder, `${files}.db`);
    const store = new SqliteStore({ file });
    await store.open();
    const reopen = async () => {
      await store.close();
      const again = new SqliteStore({ file });
      await again.open();
      return again;
    };
    return { store, reopen, connect: undefined };
  },

  "SqliteStore in memory": onSqliteInMemory,
};

async function onSqliteInMemory(): Promise<Subject> {
  const store = new SqliteStore({ file: ":memory:" });
  await store.open();
  return { store, reopen: undefined, connect: undefined };
}

for (const [name, makeStore] of Object.entries(stores)) storeContract(name, makeStore);
equalitySuite("SqliteStore", onSqliteInMemory, 300);
