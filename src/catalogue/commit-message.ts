import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { Save } from "./catalogue-entry.ts";
import { diffSpecs, type SpecChange } from "./spec-diff.ts";

/** Limit of listed changes; further ones are counted. */
const changesMax = 5;
const nameLengthMax = 60;

interface Texts {
  /** The last committed file and the current one; undefined if there is none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** `Update DAG spec - add node build_index, change node join (nodeParams) by ann at 2026-01-05 12:00:00` */
export function commitMessage({ operation, by, at }: Omit<Save, "version">, texts: Texts): string {
  const what = changesOf(operation, texts);
  return `Update DAG spec - ${what} by ${oneLine(by) || "unknown"} at ${timeText(at)}`;
}

/** Removes characters that must not be in a commit's author or message. */
export function oneLine(text: string | null): string {
  // oxlint-disable-next-line no-control-regex -- that is what is taken out
  return (text ?? "").replaceAll(/[<>\u0000-\u001f\u007f]+/g, " ").trim();
}

/** `yyyy-MM-dd HH:mm:ss`, in UTC. */
function timeText(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

function changesOf(operation: string, { before, after }: Texts): string {
  const was = specOf(before);
  const is = specOf(after);
  if (after === undefined) return "delete workflow";
  if (before === undefined) return is === undefined ? "create workflow" : `create workflow with ${nodeCount(is)}`;
  if (was === undefined || is === undefined) return operation.toLowerCase();
  const changes = describeChanges(was, is);
  const prefix = operation === "Roll back" ? "roll back: " : "";
  if (changes.length === 0) return `${prefix}change layout`;
  const more = changes.length - changesMax;
  return `${prefix}${changes.slice(0, changesMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function nodeCount({ nodes }: DagSpec): string {
  return nodes.length === 1 ? "1 node" : `${nodes.length} nodes`;
}

/** Lists each changed node, edge and setting once, in the order of the definition. */
function describeChanges(before: DagSpec, after: DagSpec): string[] {
  // The name is the folder's, whether or not the file has it.
  const changes = diffSpecs(before, after).filter(({ path }) => path !== "name");
  const byPlace = Map.groupBy(changes, ({ path }) => path.split("/", 2).join("/"));
  const nodes = [...before.nodes, ...after.nodes];
  return [...byPlace].map(([place, changes]) => describePlace(place, changes, nodes));
}

const verbs = { added: "add", removed: "remove", changed: "change" } as const;

function describePlace(place: string, changes: readonly SpecChange[], nodes: readonly NodeSpec[]): string {
  const [kind = "", id = ""] = place.split("/");
  const [only] = changes;
  const isWhole = only?.path === place;
  const verb = isWhole ? verbs[only.op] : "change";
  if (kind === "nodes" && id !== "") return `${verb} node ${nameOf(id, nodes)}${isWhole ? "" : fieldsOf(changes)}`;
  if (kind === "edges" && id !== "") return `${verb} edge ${edgeName(id, nodes)}`;
  return `${verb} ${short(kind)}`;
}

function fieldsOf(changes: readonly SpecChange[]): string {
  const fields = new Set(changes.map(({ path }) => short(path.split("/")[2] ?? "")));
  return ` (${[...fields].join(", ")})`;
}

function nameOf(id: string, nodes: readonly NodeSpec[]): string {
  return short(nodes.findLast(({ nodeId }) => String(nodeId) === id)?.nodeName ?? id);
}

function edgeName(ends: string, nodes: readonly NodeSpec[]): string {
  const [from = "", to = ""] = ends.replace(/#\d+$/, "").split("->");
  return `${nameOf(from, nodes)} -> ${nameOf(to, nodes)}`;
}

function short(name: string): string {
  const line = oneLine(name);
  return line.length <= nameLengthMax ? line : `${line.slice(0, nameLengthMax)}…`;
}

/** Parses a definition; undefined if the text is none. */
function specOf(text: string | undefined): DagSpec | undefined {
  if (text === undefined) return undefined;
  try {
    const spec = JSON.parse(text) as DagSpec;
    return Array.isArray(spec.nodes) && spec.nodes.every((node) => typeof node === "object") ? spec : undefined;
  } catch {
    return undefined;
  }
}
