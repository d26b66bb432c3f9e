import { settleSpelling } from "../../../src/kernel/dag/spelling.ts";
import type { Draft } from "./draft.ts";

export type ReadSpec = { readonly draft: Draft } | { readonly problem: "notSpec" } | { readonly notJson: string };

/** Reads the text of a dag-spec. What the graph and the table need to be drawn must be there; the check says the rest. */
export function readSpec(text: string): ReadSpec {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { notJson: (error as Error).message };
  }
  if (!isSpec(value)) return { problem: "notSpec" };
  settleSpelling(value);
  return { draft: value };
}

function isSpec(value: unknown): value is Draft {
  if (!isObject(value) || !Array.isArray(value["nodes"])) return false;
  const { nodes, edges = [] } = value as { nodes: unknown[]; edges?: unknown };
  const isSound = nodes.every((node) => isObject(node) && isId(node["nodeId"]));
  return (
    isSound && Array.isArray(edges) && edges.every((edge) => isObject(edge) && isId(edge["from"]) && isId(edge["to"]))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isId(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}
