import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { checkSpec } from "../kernel/dag/check.ts";
import type { DagSpec, EdgeSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../kernel/node-spec.ts";
import { copyAsJson } from "../base/json-text.ts";
import { Workflow } from "./workflow.ts";

/**
 * Builds a definition node by node, by node ids, as TIS's `DAGSessionSpec` does. `WorkflowBuilder` does the same by task
 * names, with jobs that are checked by the compiler.
 *
 * ```ts
 * import { DagSpecBuilder } from "heddle/dag";
 *
 * const spec = new DagSpecBuilder("nightly")
 *   .addNode({ nodeId: 1, nodeName: "dump", jobName: "dump" })
 *   .addNode({ nodeId: 2, nodeName: "build_index", jobName: "build", skipWhenFailed: true })
 *   .addEdge(1, 2);
 * await engine.submitWorkflow(spec.toWorkflow());
 * ```
 */
export class DagSpecBuilder {
  readonly #settings: Omit<DagSpec, "nodes" | "edges">;
  readonly #nodes = new Map<NodeId, NodeSpec>();
  readonly #edges: EdgeSpec[] = [];

  constructor(name?: string) {
    this.#settings = name === undefined ? {} : { name };
  }

  /** Creates a builder from a dag-spec. `WORKFLOW_INVALID`, and the errors of `validate`. */
  static fromJSON(given: unknown): DagSpecBuilder {
    // `Workflow.fromJSON` knows all spellings, and refuses invalid definitions.
    const { nodes, edges = [], ...settings } = Workflow.fromJSON(given).toJSON();
    const builder = new DagSpecBuilder();
    Object.assign(builder.#settings, settings);
    for (const node of nodes) builder.addNode(node);
    builder.#edges.push(...edges);
    return builder;
  }

  /** Adds a node. `TASK_DUPLICATE` if the id is taken. */
  addNode(node: NodeSpec): this {
    if (this.#nodes.has(node.nodeId)) {
      throw new EngineError("TASK_DUPLICATE", `there is already a node with the id ${preview(node.nodeId)}`);
    }
    this.#nodes.set(node.nodeId, copyAsJson(node, `node ${preview(node.nodeId)}`) as NodeSpec);
    return this;
  }

  /** Makes `to` wait for `from`. `property` is the result of a decision that chooses this edge. */
  addEdge(from: NodeId, to: NodeId, property?: string): this {
    this.#edges.push(property === undefined ? { from, to } : { from, to, property });
    return this;
  }

  /** Throws `WORKFLOW_INVALID`, `WORKFLOW_EMPTY`, `DEPENDENCY_SELF` or `WORKFLOW_CYCLE` if the definition cannot run. */
  validate(): void {
    checkSpec(this.toJSON());
  }

  /** The definition as plain data. Changing it does not change the builder. */
  toJSON(): DagSpec {
    const spec = { ...this.#settings, nodes: [...this.#nodes.values()], edges: this.#edges };
    return copyAsJson(spec, "the definition") as DagSpec;
  }

  /** Returns a workflow for `submitWorkflow`. Throws the errors of `validate`. */
  toWorkflow(): Workflow {
    return Workflow.fromJSON(this.toJSON());
  }
}
