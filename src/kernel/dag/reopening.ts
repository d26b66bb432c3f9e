import { EngineError } from "../../base/error.ts";
import type { InstanceReopened, SettledByUser } from "../event.ts";
import { hasEnded } from "../status.ts";
import type { DagState } from "./dag-state.ts";
import { descendants } from "./descendants.ts";
import { isFailed, Phase, statusOf } from "./task-state.ts";

/** What a user's wish to go on with an ended instance makes of its tasks. Generation and deadline are the machine's. */
export type Reopening = Omit<InstanceReopened, "type" | "generation" | "deadline">;

/** Failed nodes that were not skippable, stopped ones and those canceled for any cause but their branch run again. */
export function retry(state: DagState): Reopening {
  refuseUnlessEnded(state, "retry");
  if (state.status === "Success") throw refusal(state, "retry", "nothing failed");
  const reset = tasksWhere(state, (task) => state.isHardFailure(task) || wasCutOff(state, task));
  if (reset.length === 0) throw refusal(state, "retry", "no task failed, was stopped or canceled");
  return { reset };
}

/** The node and all that comes after it run again, whatever they were, and with them what a retry would run. */
export function rerun(state: DagState, task: number, params: string | undefined): Reopening {
  refuseUnlessEnded(state, "re-run");
  const anew = new Set([task, ...descendants(state, [task], "all")]);
  const removed = subTasksBelow(state, anew);
  for (const gone of removed) anew.delete(gone);
  const isRemoved = new Set(removed);
  const isReset = (other: number): boolean =>
    anew.has(other) || (!isRemoved.has(other) && (state.isHardFailure(other) || wasCutOff(state, other)));
  return {
    reset: tasksWhere(state, isReset),
    anew: [...anew],
    ...(removed.length > 0 && { removed }),
    ...(params !== undefined && { params: { task, params } }),
  };
}

/** A failed node is as the user says; what the failure kept from running runs, unless another failure keeps it. */
export function settle(state: DagState, settled: SettledByUser): Reopening {
  refuseUnlessEnded(state, settled.status === "Success" ? "mark a task as succeeded in" : "skip a task of");
  const phase = state.phase(settled.task);
  if (!isFailed(phase) || !state.isHardFailure(settled.task)) {
    const name = state.definition(settled.task).name;
    throw new EngineError(
      "TASK_STATE",
      `task "${name}" of workflow "${state.workflow}" is ${statusOf(phase)}; only a failed task that was not skipped can be marked as succeeded or skipped`,
    );
  }
  const failures = tasksWhere(state, (task) => task !== settled.task && state.isHardFailure(task));
  const blocked = new Set(descendants(state, failures, "live"));
  return { settled: [settled], reset: tasksWhere(state, (task) => wasCutOff(state, task) && !blocked.has(task)) };
}

/** Sub-tasks of parents that run again: the parents will generate their own. */
function subTasksBelow(state: DagState, parents: ReadonlySet<number>): number[] {
  const removed = new Set<number>();
  for (const parent of parents) for (const subTask of state.subTasksOf(parent)) removed.add(subTask);
  for (const task of removed) for (const subTask of state.subTasksOf(task)) removed.add(subTask);
  return [...removed];
}

function wasCutOff(state: DagState, task: number): boolean {
  const phase = state.phase(task);
  return phase === Phase.stopped || phase === Phase.canceledUpstream || phase === Phase.canceledEnded;
}

function tasksWhere(state: DagState, holds: (task: number) => boolean): number[] {
  const tasks: number[] = [];
  for (let task = 0; task < state.size; task++) if (holds(task)) tasks.push(task);
  return tasks;
}

function refuseUnlessEnded(state: DagState, operation: string): void {
  if (!hasEnded(state.status)) throw refusal(state, operation, "it has not ended");
}

function refusal(state: DagState, operation: string, because: string): EngineError {
  return new EngineError(
    "INSTANCE_STATE",
    `cannot ${operation} an instance of workflow "${state.workflow}" that is ${state.status}: ${because}`,
  );
}
