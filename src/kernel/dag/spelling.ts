import type { NodeSpec, NodeType } from "../node-spec.ts";
import { nodeTypes } from "../task-definition.ts";

/** Normalizes other spellings: words for a node's type (TIS), and params as an object instead of its JSON text. */
export function settleSpelling(spec: { nodes?: unknown }): void {
  if (!Array.isArray(spec.nodes)) return;
  for (const node of spec.nodes as (NodeSpec | null)[]) {
    if (node === null) continue;
    const { nodeType, nodeParams }: { nodeType?: unknown; nodeParams?: unknown } = node;
    const type = nodeTypeWords.get(nodeType);
    if (type !== undefined) node.nodeType = type;
    if (typeof nodeParams === "object" && nodeParams !== null) node.nodeParams = JSON.stringify(nodeParams);
  }
}

const nodeTypeWords: ReadonlyMap<unknown, NodeType> = new Map<unknown, NodeType>([
  ["JOB", nodeTypes.job],
  ["TASK", nodeTypes.job],
  ["DECISION", nodeTypes.decision],
  ["CONTROL", nodeTypes.decision],
  ["NESTED_WORKFLOW", nodeTypes.nested],
]);
