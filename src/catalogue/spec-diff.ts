import { canonicalJson } from "../base/canonical-json.ts";
import type { DagSpec, EdgeSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";

/** One difference between two definitions. */
export interface SpecChange {
  readonly op: "added" | "removed" | "changed";
  /** `timeoutSeconds`, `nodes/3`, `nodes/3/nodeParams`, `edges/1->2/property`: a JSON pointer, with ids for places. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Compares two definitions; nodes and edges are matched by id, not by position. */
export function diffSpecs(before: DagSpec, after: DagSpec): SpecChange[] {
  const { nodes: nodesBefore, edges: edgesBefore = [], ...settingsBefore } = before;
  const { nodes: nodesAfter, edges: edgesAfter = [], ...settingsAfter } = after;
  return [
    ...fields("", settingsBefore, settingsAfter),
    ...fields("nodes/", nodesById(nodesBefore), nodesById(nodesAfter), 2),
    ...fields("edges/", edgesByEnds(edgesBefore), edgesByEnds(edgesAfter), 2),
  ];
}

type Fields = Readonly<Record<string, unknown>>;

function nodesById(nodes: readonly NodeSpec[]): Fields {
  return record(nodes.map((node) => [String(node.nodeId), node]));
}

/** Edges by their ends; the second edge between the same nodes is `1->2#2`. */
function edgesByEnds(edges: readonly EdgeSpec[]): Fields {
  const counts = new Map<string, number>();
  return record(
    edges.map((edge) => {
      const ends = `${edge.from}->${edge.to}`;
      const count = (counts.get(ends) ?? 0) + 1;
      counts.set(ends, count);
      return [count === 1 ? ends : `${ends}#${count}`, edge];
    }),
  );
}

/** An object without prototype, because keys are user input. */
function record(pairs: readonly (readonly [string, unknown])[]): Fields {
  const found = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of pairs) found[key] = value;
  return found;
}

/** Compares fields to this depth; deeper objects are compared as values. */
function fields(path: string, before: Fields, after: Fields, depth = 3): SpecChange[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => change(path + escapeKey(key), valueAt(before, key), valueAt(after, key), depth));
}

function change(path: string, before: unknown, after: unknown, depth: number): SpecChange[] {
  if (before === undefined) return after === undefined ? [] : [{ op: "added", path, after }];
  if (after === undefined) return [{ op: "removed", path, before }];
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (depth > 0 && isFields(before) && isFields(after)) return fields(`${path}/`, before, after, depth - 1);
  return [{ op: "changed", path, before, after }];
}

function valueAt(from: Fields, key: string): unknown {
  return Object.hasOwn(from, key) ? from[key] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
