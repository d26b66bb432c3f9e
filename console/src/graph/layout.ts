import { Graph as DagreGraph, layout as layoutDagre } from "@dagrejs/dagre";
import { wholeScale } from "./camera.ts";
import type { GraphEdge } from "./model.ts";

/** Size of nodes and the gaps between them. */
interface Density {
  readonly width: number;
  readonly height: number;
  readonly rankGap: number;
  readonly nodeGap: number;
}

const roomy: Density = { width: 176, height: 46, rankGap: 52, nodeGap: 18 };
/** Narrow nodes whose names have two lines: a chain of tasks fits beside a panel. */
const compact: Density = { width: 112, height: 62, rankGap: 26, nodeGap: 14 };

/** Above this number of nodes dagre takes too long, and rank columns are read as well. */
const dagreMax = 300;
/** Above this number of nodes no density shows all names at once. */
const compactMax = 100;
/** At this scale a graph is read with ease, and need not be made smaller. */
const easyScale = 0.9;

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
  /** Size of each node. */
  readonly node: { readonly width: number; readonly height: number };
}

type Edges = readonly Pick<GraphEdge, "from" | "to" | "label">[];

/** Positions for a view of this size: nodes are narrow where that lets the graph be drawn larger. */
export function layoutGraph(
  ids: readonly string[],
  edges: Edges,
  view: { readonly width: number; readonly height: number },
): Layout {
  if (ids.length > dagreMax) return layoutByColumns(ids, edges);
  const wide = layoutByDagre(ids, edges, roomy);
  const scale = wholeScale(wide, view);
  if (scale >= easyScale || ids.length > compactMax || view.width === 0) return wide;
  const narrow = layoutByDagre(ids, edges, compact);
  return wholeScale(narrow, view) > scale ? narrow : wide;
}

function layoutByDagre(ids: readonly string[], edges: Edges, density: Density): Layout {
  const { width, height, nodeGap } = density;
  // Labels of edges stand between the nodes, not under them.
  const longest = Math.max(0, ...edges.map(({ label }) => label?.length ?? 0));
  const rankGap = longest === 0 ? density.rankGap : Math.max(density.rankGap, Math.min(96, 24 + 8 * longest));
  const graph = new DagreGraph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: nodeGap, ranksep: rankGap, edgesep: 10, ranker: "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width, height });
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
  return bounded({ x, y, bends, node: { width, height } });
}

/** One column per rank; within a column, nodes stand near the middle of their predecessors. */
function layoutByColumns(ids: readonly string[], edges: Edges): Layout {
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
  const x = Float64Array.from(rank, (column) => column * (roomy.width + roomy.rankGap * 1.6));
  return bounded({ x, y, bends: [], node: roomy });
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
  const step = roomy.height + roomy.nodeGap;
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
function bounded({ x, y, bends, node }: Pick<Layout, "x" | "y" | "bends" | "node">): Layout {
  let [left, top, right, bottom] = [0, 0, 0, 0];
  if (x.length > 0) [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  x.forEach((at, number) => {
    left = Math.min(left, at - node.width / 2);
    right = Math.max(right, at + node.width / 2);
    top = Math.min(top, (y[number] ?? 0) - node.height / 2);
    bottom = Math.max(bottom, (y[number] ?? 0) + node.height / 2);
  });
  return {
    x: x.map((at) => at - left),
    y: y.map((at) => at - top),
    bends: bends.map((points) => points?.map((point) => ({ x: point.x - left, y: point.y - top }))),
    width: right - left,
    height: bottom - top,
    node,
  };
}
