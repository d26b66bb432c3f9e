import type { EdgeSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeId } from "../kernel/node-spec.ts";

/** The edges of a definition in their order, indexed by source node. */
export class DagEdges {
  readonly #edges: EdgeSpec[] = [];
  #leaving: Map<NodeId, EdgeSpec[]> | undefined;

  constructor(edges: Iterable<EdgeSpec>) {
    for (const edge of edges) this.#edges.push(edge);
  }

  get all(): readonly EdgeSpec[] {
    return this.#edges;
  }

  /** The enabled edges; a disabled edge of the definition is ignored by runs. */
  get enabled(): EdgeSpec[] {
    return this.#edges.filter(isEnabled);
  }

  add(edge: EdgeSpec): void {
    this.#edges.push(edge);
    if (this.#leaving !== undefined) index(this.#leaving, edge);
  }

  /** The nodes that wait for this one. */
  successors(nodeId: NodeId): NodeId[] {
    if (this.#leaving === undefined) {
      this.#leaving = new Map();
      for (const edge of this.#edges) index(this.#leaving, edge);
    }
    const leaving = this.#leaving.get(nodeId) ?? [];
    return [...new Set(leaving.filter(isEnabled).map((edge) => edge.to))];
  }
}

function isEnabled(edge: EdgeSpec): boolean {
  return edge.enable ?? true;
}

function index(leaving: Map<NodeId, EdgeSpec[]>, edge: EdgeSpec): void {
  const edges = leaving.get(edge.from);
  if (edges === undefined) leaving.set(edge.from, [edge]);
  else edges.push(edge);
}
