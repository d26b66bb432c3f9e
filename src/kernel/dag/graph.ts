import { assert } from "../../base/assert.ts";
import { defineTask, type TaskDefinition } from "../task-definition.ts";
import type { DagSpec, FailurePolicy } from "./dag-spec.ts";
import type { NodeId, NodeSpec } from "../node-spec.ts";
import { taskNames } from "./task-names.ts";

/**
 * A definition made ready to run: nodes by number, edges in both directions as flat arrays. Built once per version and
 * shared by its instances, so an instance of a large graph costs only its own state.
 */
export class Graph {
  readonly tasks: readonly TaskDefinition[];
  readonly failurePolicy: FailurePolicy;
  readonly domain: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly maxConcurrentTasks: number | undefined;
  readonly edgeFrom: Int32Array;
  readonly edgeTo: Int32Array;
  readonly edgeProperty: readonly (string | undefined)[];
  readonly edgeEnabled: readonly boolean[];
  readonly #out: Adjacency;
  readonly #in: Adjacency;
  #byName: ReadonlyMap<string, number> | undefined;
  #depth: Int32Array | undefined;

  /** The spec has passed `checkSpec`. */
  constructor(spec: DagSpec) {
    const edges = spec.edges ?? [];
    const numberOf = new Map(spec.nodes.map((node, number) => [node.nodeId, number]));
    const place = (nodeId: NodeId): number => {
      const number = numberOf.get(nodeId);
      assert(number !== undefined, "an edge joins nodes of its own graph");
      return number;
    };
    this.tasks = defineTasks(spec.nodes);
    this.failurePolicy = spec.failurePolicy ?? "finish-running";
    this.domain = spec.domain;
    this.timeoutMs = spec.timeoutSeconds === undefined ? undefined : spec.timeoutSeconds * 1000;
    this.maxConcurrentTasks = spec.maxConcurrentTasks;
    this.edgeFrom = Int32Array.from(edges, (edge) => place(edge.from));
    this.edgeTo = Int32Array.from(edges, (edge) => place(edge.to));
    this.edgeProperty = edges.map((edge) => edge.property);
    this.edgeEnabled = edges.map((edge) => edge.enable ?? true);
    this.#out = new Adjacency(this.tasks.length, this.edgeFrom);
    this.#in = new Adjacency(this.tasks.length, this.edgeTo);
  }

  get size(): number {
    return this.tasks.length;
  }

  /** Numbers of the edges that leave the task. */
  outEdges(task: number): Int32Array {
    return this.#out.edgesOf(task);
  }

  inEdges(task: number): Int32Array {
    return this.#in.edgesOf(task);
  }

  // The same one by one, for what happens with every task: a view of edges costs more than what is done with them.

  outDegree(task: number): number {
    return this.#out.degreeOf(task);
  }

  outEdge(task: number, place: number): number {
    return this.#out.edgeAt(task, place);
  }

  inDegree(task: number): number {
    return this.#in.degreeOf(task);
  }

  inEdge(task: number, place: number): number {
    return this.#in.edgeAt(task, place);
  }

  get byName(): ReadonlyMap<string, number> {
    this.#byName ??= new Map(this.tasks.map((task, number) => [task.name, number]));
    return this.#byName;
  }

  /** Length of the longest way from a root: the task's level. */
  depth(task: number): number {
    this.#depth ??= this.#measureDepth();
    return this.#depth[task] ?? 0;
  }

  #measureDepth(): Int32Array {
    const depth = new Int32Array(this.size);
    const waitingOn = Int32Array.from(this.tasks, (_, task) => this.inEdges(task).length);
    const settled = [...waitingOn.keys()].filter((task) => waitingOn[task] === 0);
    for (const task of settled) {
      for (const edge of this.outEdges(task)) {
        const to = this.edgeTo[edge] as number;
        depth[to] = Math.max(depth[to] as number, (depth[task] as number) + 1);
        if (--(waitingOn[to] as number) === 0) settled.push(to);
      }
    }
    return depth;
  }
}

const noEdges = new Int32Array(0);

/** Edge numbers grouped by the task at one of their ends, in the definition's order. */
class Adjacency {
  readonly #start: Int32Array;
  readonly #edges: Int32Array;

  constructor(tasks: number, endOfEdge: Int32Array) {
    this.#start = new Int32Array(tasks + 1);
    this.#edges = new Int32Array(endOfEdge.length);
    for (const task of endOfEdge) (this.#start[task + 1] as number)++;
    for (let task = 0; task < tasks; task++) (this.#start[task + 1] as number) += this.#start[task] as number;
    const next = this.#start.slice();
    endOfEdge.forEach((task, edge) => {
      this.#edges[(next[task] as number)++] = edge;
    });
  }

  /**
   * Returns the edges of a task; none for a task that was added later. Tasks without edges share one empty view,
   * because creating a view is expensive.
   */
  edgesOf(task: number): Int32Array {
    const start = this.#start[task];
    const end = this.#start[task + 1];
    return start === end || end === undefined ? noEdges : this.#edges.subarray(start, end);
  }

  /** 0 for a task that was added later. */
  degreeOf(task: number): number {
    const end = this.#start[task + 1];
    return end === undefined ? 0 : end - (this.#start[task] as number);
  }

  edgeAt(task: number, place: number): number {
    return this.#edges[(this.#start[task] as number) + place] as number;
  }
}

function defineTasks(nodes: readonly NodeSpec[]): TaskDefinition[] {
  const names = taskNames(nodes);
  return nodes.map((node, place) => defineTask(node, names[place] as string));
}
