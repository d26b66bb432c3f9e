import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";

/** Checking, saving and comparing definitions of this size takes well under a second, during which nothing else runs. */
export const savedNodesMax = 10_000;
export const savedEdgesMax = 50_000;

/** Refuses a definition that is too large to be saved in the catalogue or as a file, with `WORKFLOW_INVALID`. A value that is no definition passes: other checks refuse it. */
export function refuseTooLarge(spec: unknown, name: string): void {
  const problem = sizeProblem(spec);
  if (problem === undefined) return;
  const { part, count, max } = problem;
  throw new EngineError(
    "WORKFLOW_INVALID",
    `workflow ${preview(name)} has ${count} ${part}; a saved definition has at most ${max}: nest workflows, or generate sub-tasks`,
  );
}

/** The list that exceeds its limit. */
export function sizeProblem(spec: unknown): { part: "nodes" | "edges"; count: number; max: number } | undefined {
  if (typeof spec !== "object" || spec === null) return undefined;
  const { nodes, edges } = spec as Readonly<Record<string, unknown>>;
  if (Array.isArray(nodes) && nodes.length > savedNodesMax)
    return { part: "nodes", count: nodes.length, max: savedNodesMax };
  if (Array.isArray(edges) && edges.length > savedEdgesMax)
    return { part: "edges", count: edges.length, max: savedEdgesMax };
  return undefined;
}
