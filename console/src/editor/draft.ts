import type { DagSpec, EdgeSpec } from "../../../src/kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../../../src/kernel/node-spec.ts";
import { nodeTypes } from "../../../src/kernel/task-definition.ts";

/** A definition that is being edited. Every edit makes a new one, and keeps fields that it does not know. */
export type Draft = DagSpec;

export type NodeKind = keyof typeof nodeTypes;

/** The kind of a node; a type that nobody knows, which the check refuses, is shown as a job. */
export function kindOfNode({ nodeType }: Pick<NodeSpec, "nodeType">): NodeKind {
  if (nodeType === nodeTypes.decision) return "decision";
  return nodeType === nodeTypes.nested ? "nested" : "job";
}

export const emptyDraft: Draft = { nodes: [], edges: [] };

export function edgesOf(draft: Draft): readonly EdgeSpec[] {
  return draft.edges ?? [];
}

/** Addresses and the graph know nodes by text: JSON tells 1 from "1", and no definition has both. */
export function findNode(draft: Draft, id: string | undefined): NodeSpec | undefined {
  return draft.nodes.find(({ nodeId }) => String(nodeId) === id);
}

/** One above the highest number. */
function nextNodeId(nodes: readonly NodeSpec[]): number {
  return nodes.reduce((highest, { nodeId }) => Math.max(highest, Number(nodeId) || 0), 0) + 1;
}

function freeName(nodes: readonly NodeSpec[], stem: string): string {
  const taken = new Set(nodes.map(({ nodeName }) => nodeName));
  for (let number = 1; ; number++) {
    const name = `${stem}-${number}`;
    if (!taken.has(name)) return name;
  }
}

/** The fields that belong to one kind of node only. */
const workOf: Readonly<Record<NodeKind, Partial<NodeSpec>>> = {
  job: { nodeType: nodeTypes.job },
  decision: { nodeType: nodeTypes.decision, nodeParams: "true" },
  nested: { nodeType: nodeTypes.nested, workflowName: "" },
};

const stems: Readonly<Record<NodeKind, string>> = { job: "task", decision: "decision", nested: "nested" };

/** Adds a node, after another one if there is one. */
export function addNode(draft: Draft, kind: NodeKind, after?: NodeId): { readonly draft: Draft; readonly id: string } {
  const nodeId = nextNodeId(draft.nodes);
  const node: NodeSpec = { nodeId, nodeName: freeName(draft.nodes, stems[kind]), ...workOf[kind] };
  const added = { ...draft, nodes: [...draft.nodes, node] };
  return { draft: after === undefined ? added : connect(added, after, nodeId), id: String(nodeId) };
}

/** Removes a node; what came before it then leads to what came after it, unless a decision's result was asked for. */
export function removeNode(draft: Draft, id: NodeId): Draft {
  const before = edgesOf(draft).filter(({ to }) => to === id);
  const after = edgesOf(draft).filter(({ from }) => from === id);
  const kept = edgesOf(draft).filter(({ from, to }) => from !== id && to !== id);
  const joined = before.flatMap((into) => {
    return after
      .filter(({ to, property }) => property === undefined && !isConnected(kept, into.from, to))
      .map(({ to }) => ({ ...into, to }));
  });
  return { ...draft, nodes: draft.nodes.filter(({ nodeId }) => nodeId !== id), edges: [...kept, ...joined] };
}

function isConnected(edges: readonly EdgeSpec[], from: NodeId, to: NodeId): boolean {
  return edges.some((edge) => edge.from === from && edge.to === to);
}

/** Adds an edge. A decision's edges carry results: the first is taken at true, the second at false. */
export function connect(draft: Draft, from: NodeId, to: NodeId): Draft {
  const edges = edgesOf(draft);
  if (from === to || isConnected(edges, from, to)) return draft;
  const source = findNode(draft, String(from));
  const results = new Set(edges.filter((edge) => edge.from === from).map(({ property }) => property));
  const property = source !== undefined && kindOfNode(source) === "decision" ? nextResult(results) : undefined;
  return { ...draft, edges: [...edges, { from, to, ...(property !== undefined && { property }) }] };
}

function nextResult(taken: ReadonlySet<string | undefined>): string | undefined {
  return ["true", "false"].find((result) => !taken.has(result));
}

/** Changes the edge at a place; null removes it. */
export function changeEdge(draft: Draft, place: number, change: Partial<EdgeSpec> | null): Draft {
  const edges = [...edgesOf(draft)];
  if (change === null) edges.splice(place, 1);
  else edges[place] = withoutAbsent({ ...edges[place], ...change }) as EdgeSpec;
  return { ...draft, edges };
}

/** Changes fields of a node; undefined removes one. */
export function changeNode(draft: Draft, id: NodeId, change: Readonly<Record<string, unknown>>): Draft {
  const nodes = draft.nodes.map((node) => {
    return node.nodeId === id ? (withoutAbsent({ ...node, ...change }) as unknown as NodeSpec) : node;
  });
  return { ...draft, nodes };
}

/** Changes what a node does, and drops what only its former kind had. */
export function changeKind(draft: Draft, id: NodeId, kind: NodeKind): Draft {
  const none = { jobName: undefined, jobId: undefined, nodeParams: undefined, workflowName: undefined };
  return changeNode(draft, id, { ...none, workflowVersion: undefined, workflow: undefined, ...workOf[kind] });
}

export function changeSettings(draft: Draft, change: Readonly<Record<string, unknown>>): Draft {
  return withoutAbsent({ ...draft, ...change }) as unknown as Draft;
}

function withoutAbsent(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
