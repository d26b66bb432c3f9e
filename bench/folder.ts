import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new folder for the work, gone afterwards. */
export async function inFolder<T>(work: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "run-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** With the log of a process that was killed, which holds what was written last. */
export function copyDatabase(from: string, to: string): void {
  for (const part of ["", "-wal"]) if (existsSync(from + part)) copyFileSync(from + part, to + part);
}
