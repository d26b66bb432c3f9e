import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The whole file or none of it, so that a task that is killed and runs again finds nothing half done. */
export function writeWhole(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.part`, text);
  renameSync(`${path}.part`, path);
}

export function writeRows(path: string, rows: readonly unknown[]): void {
  writeWhole(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

export function readRows<Row>(path: string): Row[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Row);
}

export function writeCsv(
  path: string,
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  writeWhole(path, [header, ...rows].map((row) => `${row.join(",")}\n`).join(""));
}
