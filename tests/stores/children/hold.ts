import { SqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";

/** Opens the database and keeps it, until it is killed. */
const store = new SqliteStore({ file: process.argv[2] ?? "" });
await store.open();
console.log("held");
process.stdin.resume();
