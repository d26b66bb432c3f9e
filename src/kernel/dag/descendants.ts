import type { DagState } from "./dag-state.ts";

export interface Following {
  /** Edges that are on, or all. */
  readonly edges: "live" | "all";
  /** Filter of the walk: other tasks are neither returned nor walked through. Default: all tasks. */
  readonly among?: (task: number) => boolean;
}

/**
 * Every task that waits, or waited, directly or not, for one of the given ones; these themselves are not among them, unless
 * they wait for each other. What waits for a sub-task's parent to be complete waits for the sub-task.
 */
export function descendants(state: DagState, tasks: Iterable<number>, { edges, among }: Following): number[] {
  const walked = new Set<number>(tasks);
  const incomplete = new Set<number>();
  const found = new Set<number>();
  const find = (next: Iterable<number>): void => {
    for (const task of next) {
      if (among !== undefined && !among(task)) continue;
      walked.add(task);
      found.add(task);
    }
  };
  for (const task of walked) {
    find(state.subTasksOf(task));
    let up: number | undefined = task;
    while (up !== undefined && !incomplete.has(up)) {
      incomplete.add(up);
      find(waitingForCompletion(state, up, edges));
      up = state.parentOf(up);
    }
  }
  return [...found];
}

function* waitingForCompletion(state: DagState, task: number, edges: "live" | "all"): Iterable<number> {
  const { graph } = state;
  for (const edge of graph.outEdges(task)) {
    if (edges === "all" || !state.isEdgeOff(edge)) yield graph.edgeTo[edge] as number;
  }
  yield* state.siblingsAfter(task);
}
