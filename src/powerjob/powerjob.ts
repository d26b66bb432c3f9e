import { EngineError } from "../base/error.ts";
import { nodeCodes } from "./codes.ts";
import { preview } from "../base/preview.ts";
import { neverFree } from "../kernel/dag/check.ts";
import type { DagSpec, EdgeSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeId, NodeSpec } from "../kernel/node-spec.ts";

/**
 * PowerJob's algorithms over the point-and-line model, for those who run graphs of their own; the engine has its own
 * rules. As in the original, a failed parent counts as finished (its caller ends the workflow first) and a disabled edge
 * still is a dependency. Not as in the original: a missing edge list is empty, a node is returned once whatever edges
 * lead to it, a node on its way to a worker is not ready, an edge's property is trimmed, of two parallel edges both
 * count, and a finished node is not canceled. Each function looks at every node and edge at most a few times.
 */

/** The reference model: every node knows its neighbours. The specs are the given ones, not copies. */
export interface DagModel {
  /** Nodes in the order of the spec. */
  readonly nodes: ReadonlyMap<NodeId, DagNode>;
  readonly roots: readonly DagNode[];
}

/** A node of a dag-spec, as PowerJob's algorithms read and change it. */
export interface DagNode {
  readonly nodeId: NodeId;
  readonly spec: NodeSpec;
  /** Each neighbour once, also where several edges lead to it. */
  readonly predecessors: readonly DagNode[];
  readonly successors: readonly DagNode[];
  readonly inEdges: readonly EdgeSpec[];
  readonly outEdges: readonly EdgeSpec[];
}

/** A node while its neighbours are being found. */
interface Linking extends DagNode {
  predecessors: DagNode[];
  successors: DagNode[];
  readonly inEdges: EdgeSpec[];
  readonly outEdges: EdgeSpec[];
}

const { waitingDispatch: waiting, failed, succeed: succeeded, canceled, stopped } = nodeCodes;
const finished: ReadonlySet<number | undefined> = new Set([failed, succeeded, canceled, stopped]);

/**
 * Returns whether a spec is valid: there are nodes, their ids differ, every edge joins two of them and there is no
 * cycle. `enable` is not read.
 */
export function valid(spec: DagSpec): boolean {
  const nodes: unknown = spec?.nodes;
  const edges: unknown = spec?.edges ?? [];
  if (!isListOfObjects(nodes) || !isListOfObjects(edges) || nodes.length === 0) return false;

  const places = new Map(spec.nodes.map(({ nodeId }, place) => [nodeId, place]));
  const arcs = edgesOf(spec).map(({ from, to }) => ({ from: places.get(from) ?? -1, to: places.get(to) ?? -1 }));
  if (places.size < nodes.length || arcs.some(({ from, to }) => from < 0 || to < 0)) return false;
  return neverFree(nodes.length, arcs).size === 0;
}

/** Fails with WORKFLOW_INVALID where an id comes twice or an edge leads to no node. A circle is no obstacle. */
export function convert(spec: DagSpec): DagModel {
  const nodes = new Map<NodeId, Linking>();
  for (const node of spec.nodes) {
    if (nodes.has(node.nodeId)) throw invalid(spec, `two nodes have the nodeId ${preview(node.nodeId)}`);
    nodes.set(node.nodeId, {
      nodeId: node.nodeId,
      spec: node,
      predecessors: [],
      successors: [],
      inEdges: [],
      outEdges: [],
    });
  }
  const end = (nodeId: NodeId, edge: EdgeSpec): Linking => {
    const node = nodes.get(nodeId);
    if (node !== undefined) return node;
    throw invalid(spec, `edge ${preview(edge.from)} → ${preview(edge.to)}: there is no node ${preview(nodeId)}`);
  };
  for (const edge of edgesOf(spec)) {
    end(edge.from, edge).outEdges.push(edge);
    end(edge.to, edge).inEdges.push(edge);
  }
  for (const node of nodes.values()) {
    node.predecessors = distinct(node.inEdges.map((edge) => end(edge.from, edge)));
    node.successors = distinct(node.outEdges.map((edge) => end(edge.to, edge)));
  }
  return { nodes, roots: [...nodes.values()].filter(({ inEdges }) => inEdges.length === 0) };
}

/** The nodes that no edge leads to, in the order of the spec. `enable` is not read. */
export function listRoots(spec: DagSpec): NodeSpec[] {
  const targets = new Set(edgesOf(spec).map(({ to }) => to));
  return spec.nodes.filter(({ nodeId }) => !targets.has(nodeId));
}

/**
 * The nodes that may start now: first those that were free already, in the order of the spec, then those that became
 * free because a disabled node was passed over. A disabled node is passed over once all before it has finished: it
 * becomes `succeeded`, with the result "disable node", and what comes after it is looked at, depth first.
 */
export function listReadyNodes(spec: DagSpec): NodeSpec[] {
  const nodes = [...convert(spec).nodes.values()];
  const waitsFor = new Map(nodes.map((node) => [node, unfinishedPredecessors(node)]));
  const free = nodes.filter((node) => isWaiting(node) && waitsFor.get(node) === 0);

  const ready = free.filter(isEnabled);
  const passedOver = free.filter((node) => !isEnabled(node)).toReversed();
  for (let node = passedOver.pop(); node !== undefined; node = passedOver.pop()) {
    node.spec.status = succeeded;
    node.spec.result = "disable node";
    const freed = release(node, waitsFor);
    for (const next of freed) if (isEnabled(next)) ready.push(next);
    for (const next of freed.toReversed()) if (!isEnabled(next)) passedOver.push(next);
  }
  return ready.map((node) => node.spec);
}

/**
 * A decision's part: the node succeeds with the result "true" or "false", the out-edges whose property says otherwise
 * (missing: false) go off, and what only they led to is canceled. Fails with TASK_UNKNOWN.
 */
export function decide(spec: DagSpec, nodeId: NodeId, result: boolean): void {
  const node = spec.nodes.find((candidate) => candidate.nodeId === nodeId);
  if (node === undefined) throw new EngineError("TASK_UNKNOWN", `${title(spec)} has no node ${preview(nodeId)}`);
  node.status = succeeded;
  node.result = String(result);

  const notTaken = edgesOf(spec).filter((edge) => edge.from === nodeId && isTrue(edge.property) !== result);
  for (const edge of notTaken) edge.enable = false;
  handleDisableEdges(spec, notTaken);
}

/**
 * Carries switched-off edges on: a node whose in-edges are all off is canceled and its out-edges go off too, and so on.
 * Begins with the edges given, otherwise with all that are off. A node that has finished keeps its state.
 */
export function handleDisableEdges(spec: DagSpec, switchedOff?: readonly EdgeSpec[]): void {
  const { nodes } = convert(spec);
  const openEdges = new Map<NodeId, number>();
  for (const { nodeId, inEdges } of nodes.values()) openEdges.set(nodeId, inEdges.filter(isOn).length);

  const off = [...(switchedOff ?? edgesOf(spec).filter((edge) => !isOn(edge)))];
  for (const { to } of off) {
    const target = nodes.get(to) as DagNode;
    if (openEdges.get(to) !== 0 || isFinished(target)) continue;
    target.spec.enable = false;
    target.spec.disableByControlNode = true;
    target.spec.status = canceled;
    for (const edge of target.outEdges) {
      if (isOn(edge)) openEdges.set(edge.to, (openEdges.get(edge.to) as number) - 1);
      edge.enable = false;
      off.push(edge);
    }
  }
}

/**
 * Sets the nodes that a retry runs again back to waiting and returns them: the stopped, and the failed unless their failure
 * was accepted. A job forgets its instance; a nested workflow keeps it, for its child is retried in place.
 */
export function resetRetryableNode(spec: DagSpec): NodeSpec[] {
  const retryable = spec.nodes.filter(
    ({ status, skipWhenFailed }) => status === stopped || (status === failed && skipWhenFailed !== true),
  );
  for (const node of retryable) {
    node.status = waiting;
    if ((node.nodeType ?? 1) === 1) node.instanceId = null;
  }
  return retryable;
}

/** The node has finished: returns the successors that waited for nothing else. */
function release(node: DagNode, waitsFor: Map<DagNode, number>): DagNode[] {
  return node.successors.filter((successor) => {
    const count = (waitsFor.get(successor) as number) - 1;
    waitsFor.set(successor, count);
    return count === 0 && isWaiting(successor);
  });
}

function unfinishedPredecessors(node: DagNode): number {
  return node.predecessors.filter((predecessor) => !isFinished(predecessor)).length;
}

function isWaiting({ spec }: DagNode): boolean {
  return (spec.status ?? waiting) === waiting;
}

function isFinished({ spec }: DagNode): boolean {
  return finished.has(spec.status);
}

function isEnabled({ spec }: DagNode): boolean {
  return spec.enable !== false;
}

function isOn(edge: EdgeSpec): boolean {
  return edge.enable !== false;
}

function isTrue(property: string | undefined): boolean {
  return property?.trim().toLowerCase() === "true";
}

function edgesOf(spec: DagSpec): EdgeSpec[] {
  return spec.edges ?? [];
}

function isListOfObjects(value: unknown): value is object[] {
  return Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null);
}

function distinct<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

function title(spec: DagSpec): string {
  return spec.name === undefined ? "the workflow" : `workflow ${preview(spec.name)}`;
}

function invalid(spec: DagSpec, what: string): EngineError {
  return new EngineError("WORKFLOW_INVALID", `${title(spec)}: ${what}`);
}
