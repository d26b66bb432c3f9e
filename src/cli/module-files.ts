import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./exit-code.ts";

/** Resolves the module paths and checks that the files exist. */
export function moduleFiles(named: readonly string[]): string[] {
  const files = named.map((file) => resolve(file));
  const missing = files.filter((file) => !existsSync(file));
  if (missing.length === 0) return files;
  throw new UsageError(`there is no file ${missing.join(", ")}: name a module that exports jobs and workflows`);
}
