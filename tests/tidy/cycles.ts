import { posix } from "node:path";
import { importsOf } from "./imports.ts";
import { isTest } from "./source.ts";
import type { Finding, Source } from "./source.ts";

/** Files, or folders, each with those it imports from. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Files that import each other, by type or by value, over whatever detours: each group, sorted. */
export function fileCycles(sources: readonly Source[]): string[][] {
  return groups(fileGraph(sources));
}

/** Folders whose files import each other's. A folder and one inside it are two. The doors are above all folders. */
export function folderCycles(sources: readonly Source[]): string[][] {
  const graph = new Map<string, Set<string>>();
  for (const [file, targets] of fileGraph(sources)) {
    const folder = posix.dirname(file);
    if (folder === "src") continue;
    for (const target of targets) add(graph, folder, posix.dirname(target));
  }
  return groups(graph);
}

/** Cycles that are known, one a line: the members, and after ` -- ` why they are one. */
export interface KnownCycle {
  readonly members: readonly string[];
  readonly why: string;
}

export function readCycles(text: string): KnownCycle[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [members = "", why = ""] = line.split(" -- ");
      return { members: members.split(" "), why };
    });
}

/** A known cycle may lose members, and its line must follow; no other may come about. */
export function cycleRatchet(found: readonly string[][], known: readonly KnownCycle[]): Finding[] {
  const findings: Finding[] = [];
  for (const cycle of found) {
    const before = known.find(({ members }) => cycle.every((member) => members.includes(member)));
    if (before === undefined)
      findings.push({ path: cycle[0] ?? "", line: 0, what: `is in a cycle: ${cycle.join(" ")}` });
  }
  for (const { members, why } of known) {
    const path = members[0] ?? "";
    if (why === "") findings.push({ path, line: 0, what: "is in a known cycle without a reason" });
    const inCycle = new Set(found.flat());
    const free = members.filter((member) => !inCycle.has(member));
    if (free.length > 0)
      findings.push({ path, line: 0, what: `take off the list what is in no cycle: ${free.join(" ")}` });
  }
  return findings;
}

function fileGraph(sources: readonly Source[]): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const source of sources) {
    if (!source.path.startsWith("src/") || isTest(source.path)) continue;
    for (const { path } of importsOf(source)) if (path !== undefined) add(graph, source.path, path);
  }
  return graph;
}

function add(graph: Map<string, Set<string>>, from: string, to: string): void {
  const targets = graph.get(from) ?? new Set();
  graph.set(from, targets.add(to));
}

/** Tarjan's algorithm: the strongly connected components of more than one node. */
function groups(graph: Graph): string[][] {
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];
  const numberOf = (node: string): number => numbers.get(node) ?? 0;
  const lower = (node: string, number: number): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? Infinity, number));
  };
  const visit = (node: string): void => {
    numbers.set(node, numbers.size);
    lower(node, numberOf(node));
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      if (next === node) continue;
      if (!numbers.has(next)) {
        visit(next);
        lower(node, lowest.get(next) ?? 0);
      } else if (open.includes(next)) lower(node, numberOf(next));
    }
    if (lowest.get(node) !== numberOf(node)) return;
    const group = open.splice(open.indexOf(node));
    if (group.length > 1) found.push(group.sort());
  };
  for (const node of graph.keys()) if (!numbers.has(node)) visit(node);
  return found;
}
