import { Graph as DagreGraph, layout as layoutDagre } from "@dagrejs/dagre";
import type { GraphEdge } from "./model.ts";

export const nodeWidth = 176;
export const nodeHeight = 46;
const rankGap = 52;
const nodeGap = 18;

/** Above this number of nodes dagre takes too long, and rank columns are read as well. */
const dagreMax = 300;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Positions of nodes (their centres, by place in the list) and the bends of edges. Statuses never move a node. */
export interface Layout {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly bends: readonly (readonly Point[] | undefined)[];
  readonly width: number;
  readonly height: number;
}

export function layoutGraph(ids: readonly string[], edges: readonly Pick<GraphEdge, "from" | "to">[]): Layout {
  return ids.length <= dagreMax ? layoutByDagre(ids, edges) : layoutByColumns(ids, edges);
}

function layoutByDagre(ids: readonly string[], edges: readonly Pick<GraphEdge, "from" | "to">[]): Layout {
  const graph = new DagreGraph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: nodeGap, ranksep: rankGap, edgesep: 10, ranker: "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width: nodeWidth, height: nodeHeight });
  edges.forEach(({ from, to }, number) => graph.setEdge(from, to, {}, String(number)));
  layoutDagre(graph);
  const x = new Float64Array(ids.length);
  const y = new Float64Array(ids.length);
  ids.forEach((id, number) => {
    const node = graph.node(id) as Point;
    x[number] = node.x;
    y[number] = node.y;
  });
  const bends = edges.map(({ from, to }, number) => {
    const { points } = graph.edge({ v: from, w: to, name: String(number) }) as { points: Point[] };
    return points;
  });
  return bounded({ x, y, bends });
}

/** One column per rank; within a column, nodes stand near the middle of their predecessors. */
function layoutByColumns(ids: readonly string[], edges: readonly Pick<GraphEdge, "from" | "to">[]): Layout {
  const numberOf = new Map(ids.map((id, number) => [id, number]));
  const pairs = edges.flatMap(({ from, to }) => {
    const [a, b] = [numberOf.get(from), numberOf.get(to)];
    return a === undefined || b === undefined ? [] : [[a, b] as const];
  });
  const rank = ranksOf(ids.length, pairs);
  const columns: number[][] = [];
  rank.forEach((column, node) => (columns[column] ??= []).push(node));
  const predecessors: number[][] = ids.map(() => []);
  for (const [a, b] of pairs) predecessors[b]?.push(a);
  const y = new Float64Array(ids.length);
  for (const column of columns) placeColumn(column, predecessors, y);
  const x = Float64Array.from(rank, (column) => column * (nodeWidth + rankGap * 1.6));
  return bounded({ x, y, bends: [] });
}

/** Length of the longest way from a root. A cycle, which no valid DAG has, ends where it began. */
function ranksOf(size: number, pairs: readonly (readonly [number, number])[]): Int32Array {
  const rank = new Int32Array(size);
  const open = new Int32Array(size);
  const successors: number[][] = Array.from({ length: size }, () => []);
  for (const [a, b] of pairs) {
    successors[a]?.push(b);
    open[b] = (open[b] ?? 0) + 1;
  }
  const ready = [...open.keys()].filter((node) => open[node] === 0);
  for (const node of ready) {
    for (const next of successors[node] ?? []) {
      rank[next] = Math.max(rank[next] ?? 0, (rank[node] ?? 0) + 1);
      open[next] = (open[next] ?? 0) - 1;
      if (open[next] === 0) ready.push(next);
    }
  }
  return rank;
}

function placeColumn(column: readonly number[], predecessors: readonly number[][], y: Float64Array): void {
  const wanted = (node: number): number => {
    const before = predecessors[node] ?? [];
    if (before.length === 0) return Number.NaN;
    return before.reduce((sum, each) => sum + (y[each] ?? 0), 0) / before.length;
  };
  const step = nodeHeight + nodeGap;
  const sorted = column
    .map((node, place) => ({ node, at: wanted(node), place }))
    .sort((a, b) => (Number.isNaN(a.at) || Number.isNaN(b.at) ? a.place - b.place : a.at - b.at || a.place - b.place));
  const known = sorted.filter(({ at }) => !Number.isNaN(at));
  const middle = known.length === 0 ? 0 : known.reduce((sum, { at }) => sum + at, 0) / known.length;
  sorted.forEach(({ node }, place) => {
    y[node] = middle + (place - (sorted.length - 1) / 2) * step;
  });
}

/** Moves everything to positive coordinates. */
function bounded({ x, y, bends }: Pick<Layout, "x" | "y" | "bends">): Layout {
  let [left, top, right, bottom] = [0, 0, 0, 0];
  if (x.length > 0) [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  x.forEach((at, number) => {
    left = Math.min(left, at - nodeWidth / 2);
    right = Math.max(right, at + nodeWidth / 2);
    top = Math.min(top, (y[number] ?? 0) - nodeHeight / 2);
    bottom = Math.max(bottom, (y[number] ?? 0) + nodeHeight / 2);
  });
  return {
    x: x.map((at) => at - left),
    y: y.map((at) => at - top),
    bends: bends.map((points) => points?.map((point) => ({ x: point.x - left, y: point.y - top }))),
    width: right - left,
    height: bottom - top,
  };
}
