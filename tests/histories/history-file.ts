import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../src/index.ts";

/** One history as it was recorded. */
export interface HistoryFile {
  readonly instanceId: string;
  readonly workflow: string;
  readonly status: string;
  readonly turns: readonly { readonly turn: number; readonly at: number; readonly events: readonly Event[] }[];
}

export const folder = import.meta.dirname;

/** Those that have histories. */
export function releases(): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
}

export function namesOf(release: string): string[] {
  return readdirSync(join(folder, release)).flatMap((file) => (file.endsWith(".json") ? file.slice(0, -5) : []));
}

export function readHistory(release: string, name: string): HistoryFile {
  return JSON.parse(readFileSync(join(folder, release, `${name}.json`), "utf8")) as HistoryFile;
}
