import type { DagState } from "./dag-state.ts";

/**
 * Every task that waits, directly or not, for one of the given ones; these themselves are not among them. With `live`,
 * only along edges that are on. What waits for a sub-task is what waits for its parent.
 */
export function descendants(state: DagState, tasks: Iterable<number>, edges: "live" | "all"): number[] {
  const walked = new Set<number>(tasks);
  const found = new Set<number>();
  for (const task of walked) {
    for (const next of waitingFor(state, task, edges)) {
      walked.add(next);
      found.add(next);
    }
    const parent = state.parentOf(task);
    if (parent !== undefined) walked.add(parent);
  }
  return [...found];
}

function* waitingFor(state: DagState, task: number, edges: "live" | "all"): Iterable<number> {
  const { graph } = state;
  if (task < graph.size) {
    for (const edge of graph.outEdges(task)) {
      if (edges === "all" || !state.isEdgeOff(edge)) yield graph.edgeTo[edge] as number;
    }
  }
  yield* state.siblingsAfter(task);
  if (!state.isPassed(task)) yield* state.subTasksOf(task);
}
