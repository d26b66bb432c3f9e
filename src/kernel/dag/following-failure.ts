import { withdrawScheduled } from "../dispatched-jobs.ts";
import { isFinished } from "../task-state.ts";
import type { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";
import { descendants } from "./descendants.ts";
import { end } from "./ending.ts";

export function failureReason(state: DagState, task: number): string {
  return `task "${state.definition(task).name}" failed: ${state.record(task)?.failure?.message}`;
}

/** A failure that nobody may skip: what depends on it is canceled, the workflow's policy decides about the rest. */
export function followFailure(transition: DagTransition, task: number, wasFailing: boolean): void {
  const { state } = transition;
  const canceled = descendants(state, [task], {
    edges: "live",
    among: (other) => !isFinished(state.phase(other)),
  });
  if (canceled.length > 0) transition.emit({ type: "TasksCanceled", tasks: canceled, cause: "upstream-failed" });
  const policy = state.graph.failurePolicy;
  if (policy === "abort-running") end(transition, "Failed", failureReason(state, task));
  else if (policy === "finish-running" && !wasFailing) withdrawScheduled(transition);
}
