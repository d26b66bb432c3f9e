import { SqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";

/** Opens the database as a user to whom file modes apply, and says how that went. */
if (process.getuid?.() === 0) process.setuid?.(65534);
const store = new SqliteStore({ file: process.argv[2] ?? "" });
try {
  await store.open();
  say({ code: "opened" });
  await store.close();
} catch (error) {
  const { code, message } = error as Error & { code: string };
  say({ code, message });
}

function say(outcome: { code: string; message?: string }): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
