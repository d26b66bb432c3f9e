import { existsSync } from "node:fs";
import { EngineError } from "../base/error.ts";
import type { Doors, Store } from "./doors.ts";

export const addressHelp = "sqlite:./heddle.db, postgresql://… or mysql://…";

/** Opens the store of an address, and closes it afterwards. */
export async function withStore<T>(doors: Doors, address: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await doors.storage(address);
  await store.open();
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Refuses a missing SQLite file: opening it would create an empty store. `outcome` says what was not done. */
export function refuseMissing(address: string, outcome: string): void {
  const file = address.startsWith("sqlite:") ? address.slice("sqlite:".length) : undefined;
  if (file === undefined || existsSync(file)) return;
  throw new EngineError("OPTION_INVALID", `there is no database at ${file}, ${outcome}`);
}
