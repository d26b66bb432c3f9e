/**
 * Moves all data from one store to another: jobs, domains, documents, definitions, instances with their histories, and
 * the messages between them. Task logs and the audit log are not moved. Stop all engines first; afterwards start them on the other store, and every instance continues.
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
 *   console.log(`${imported.unfinished} unfinished and ${imported.finished} finished instances`);
 * } finally {
 *   await from.close();
 *   await to.close();
 * }
 * ```
 *
 * To use a file, write the lines with `pipeline(exportInstances(from), createWriteStream(file))` and read them with
 * `importInstances(to, (await open(file)).readLines())`.
 */
export { exportInstances } from "./transfer/export-instances.ts";
export { importInstances } from "./transfer/import-instances.ts";
export type { ImportedRows, ImportOptions } from "./transfer/import-instances.ts";
