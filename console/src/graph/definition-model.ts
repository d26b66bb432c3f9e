import type { GraphModel, GraphNode } from "./model.ts";

/** A definition as its file has it: PowerJob's field names. */
export interface DefinitionNode {
  readonly nodeId: number | string;
  readonly nodeType?: number;
  readonly nodeName?: string;
  readonly jobName?: string;
  readonly jobId?: number | string;
  readonly nodeParams?: string;
  readonly workflowName?: string;
  readonly map?: object | null;
  readonly broadcast?: object | null;
  readonly executeType?: number | string;
}

export interface Definition {
  readonly nodes: readonly DefinitionNode[];
  readonly edges?: readonly {
    readonly from: number | string;
    readonly to: number | string;
    readonly property?: string;
  }[];
}

const kinds: Readonly<Record<number, GraphNode["kind"]>> = { 1: "job", 2: "decision", 3: "nested" };

/** PowerJob's numbers and words for a node whose job runs once, and which has no items. */
const singleTypes: readonly unknown[] = [undefined, 1, "STANDALONE"];

function kindOf({ nodeType = 1, map, broadcast, executeType }: DefinitionNode): GraphNode["kind"] {
  const kind = kinds[nodeType] ?? "job";
  const hasItems = (map ?? null) !== null || (broadcast ?? null) !== null || !singleTypes.includes(executeType);
  return kind === "job" && hasItems ? "map" : kind;
}

export function nameOfNode(node: DefinitionNode): string {
  return node.nodeName ?? node.jobName ?? String(node.nodeId);
}

/** The graph of a definition, in which nothing has run. */
export function definitionModel({ nodes, edges = [] }: Definition): GraphModel {
  const known = new Set(nodes.map(({ nodeId }) => String(nodeId)));
  return {
    nodes: nodes.map((node) => ({
      id: String(node.nodeId),
      label: nameOfNode(node),
      detail: workOfNode(node),
      status: undefined,
      kind: kindOf(node),
      attempt: 0,
      task: nameOfNode(node),
    })),
    edges: edges
      .filter(({ from, to }) => known.has(String(from)) && known.has(String(to)))
      .map(({ from, to, property }) => ({
        from: String(from),
        to: String(to),
        state: "taken" as const,
        ...(property !== undefined && { label: property }),
      })),
  };
}

/** The second line of a node: its job, its expression, or the workflow that it nests. */
export function workOfNode(node: DefinitionNode): string {
  if (node.nodeType === 2) return node.nodeParams ?? "";
  if (node.nodeType === 3) return node.workflowName ?? String(node.jobId ?? "");
  return node.jobName ?? String(node.jobId ?? "");
}
