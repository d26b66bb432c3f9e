import { isAbsolute, relative } from "node:path";

export interface Count {
  readonly found: number;
  readonly hit: number;
}

export interface Covered {
  readonly lines: Count;
  readonly branches: Count;
  readonly functions: Count;
  /** Numbers of the lines that never ran, or that have a branch never taken. */
  readonly missed: readonly number[];
}

export function nothing(): Covered {
  const none = { found: 0, hit: 0 };
  return { lines: none, branches: none, functions: none, missed: [] };
}

export function add(a: Covered, b: Covered): Covered {
  return {
    lines: sum(a.lines, b.lines),
    branches: sum(a.branches, b.branches),
    functions: sum(a.functions, b.functions),
    missed: [],
  };
}

export function percent(count: Count): number {
  return count.found === 0 ? 100 : (100 * count.hit) / count.found;
}

/** Reads the lcov format; files by their path from the root. */
export function readLcov(text: string, root: string): Map<string, Covered> {
  const files = new Map<string, Covered>();
  for (const record of text.split("end_of_record")) {
    const path = /^SF:(.+)$/m.exec(record)?.[1];
    if (path === undefined) continue;
    const file = (isAbsolute(path) ? relative(root, path) : path).replaceAll("\\", "/");
    files.set(file, {
      lines: count(record, "LF", "LH"),
      branches: count(record, "BRF", "BRH"),
      functions: count(record, "FNF", "FNH"),
      missed: missedLines(record),
    });
  }
  return files;
}

function missedLines(record: string): number[] {
  const matches = record.matchAll(/^(?:DA:(\d+)|BRDA:(\d+),\d+,\d+),0$/gm);
  const lines = [...matches].map(([, line, branch]) => Number(line ?? branch));
  return [...new Set(lines)].toSorted((a, b) => a - b);
}

/** `[3, 4, 5, 9]` → `3-5, 9`. */
export function ranges(lines: readonly number[]): string {
  const starts = lines.filter((line, i) => lines[i - 1] !== line - 1);
  const ends = lines.filter((line, i) => lines[i + 1] !== line + 1);
  return starts.map((start, i) => (start === ends[i] ? `${start}` : `${start}-${ends[i]}`)).join(", ");
}

function count(record: string, found: string, hit: string): Count {
  return { found: field(record, found), hit: field(record, hit) };
}

function field(record: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)$`, "m").exec(record)?.[1] ?? 0);
}

function sum(a: Count, b: Count): Count {
  return { found: a.found + b.found, hit: a.hit + b.hit };
}
