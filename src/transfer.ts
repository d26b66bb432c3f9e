/**
 * Moves everything from one store to another: jobs, domains, documents, definitions, instances with their histories, and
 * the messages between them. Lines, which are task logs and the audit log, stay behind. Stop all engines first; start them on the other store when it is done, and every instance goes on.
 *
 * ```ts
 * import { sqlite } from "heddle/sqlite";
 * import { postgres } from "heddle/postgres";
 * import { exportInstances, importInstances } from "heddle/transfer";
 *
 * const from = sqlite("./heddle.db");
 * const to = postgres("postgresql://heddle@db.example.org/heddle");
 * await from.open();
 * await to.open();
 * try {
 *   const imported = await importInstances(to, exportInstances(from));
 *   console.log(`${imported.unfinished} instances go on, ${imported.finished} can be looked at`);
 * } finally {
 *   await from.close();
 *   await to.close();
 * }
 * ```
 *
 * By way of a file, lines are written with `pipeline(exportInstances(from), createWriteStream(file))` and read with
 * `importInstances(to, (await open(file)).readLines())`.
 */
export { exportInstances } from "./transfer/export-instances.ts";
export { importInstances } from "./transfer/import-instances.ts";
export type { ImportedRows, ImportOptions } from "./transfer/import-instances.ts";
