import { SqliteStore } from "./stores/sqlite/sqlite-store.ts";
import type { Store } from "./stores/store.ts";

/**
 * A store in one SQLite file, for one process. The file and its folder are made when the engine starts; `:memory:`
 * keeps everything in memory, for as long as the engine runs.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { sqlite } from "heddle/sqlite";
 *
 * const engine = new Engine({ storage: sqlite("./heddle.db") });
 * await engine.start();
 * ```
 */
export function sqlite(file: string): Store {
  return new SqliteStore({ file });
}
