import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import { SqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";

/** Opens the database and keeps it, without a reference to the store, until it is killed; collects garbage when told to. */
await new SqliteStore({ file: process.argv[2] ?? "" }).open();
process.stdout.write("held\n");

for await (const line of createInterface(process.stdin)) {
  if (line !== "collect") continue;
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await setImmediate();
  }
  process.stdout.write("collected\n");
}
