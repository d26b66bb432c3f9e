import { EngineError } from "../../base/error.ts";
import { localName } from "../../base/namespace.ts";
import type { InstanceReopened, SettledByUser } from "../event.ts";
import type { Payload } from "../payload.ts";
import { refuseLargeOutput } from "../size-limits.ts";
import { hasEnded } from "../status.ts";
import type { DagState } from "./dag-state.ts";
import { type DagTransition, nameOf } from "./dag-transition.ts";
import { decisionEdges, edgesNotTaken } from "./decision.ts";
import { descendants } from "./descendants.ts";
import { Phase, statusOf } from "../task-state.ts";

/** Changes to the tasks of an ended instance that a user reopens. Generation and deadline are the machine's. */
export type Reopening = Omit<InstanceReopened, "type" | "generation" | "deadline">;

/** Resets failed nodes that were not skippable, stopped nodes, and those canceled for any cause but their branch. */
export function retry(transition: DagTransition): Reopening {
  const { state } = transition;
  refuseUnlessEnded(transition, "retry");
  if (state.status === "Success") throw refusal(transition, "retry", "nothing failed");
  return { reset: tasksWhere(state, (task) => state.isHardFailure(task) || wasCutOff(state, task)) };
}

/**
 * Resets the node and all its descendants, whatever their status, and also what a retry would run. Sub-tasks of these
 * nodes are removed: their parents will generate their own.
 */
export function rerun(transition: DagTransition, task: number, params: string | undefined): Reopening {
  const { state } = transition;
  refuseUnlessEnded(transition, "re-run");
  refuseDeadBranch(transition, task);
  const again = new Set([task, ...descendants(state, [task], { edges: "all" })]);
  const removed = new Set([...again].filter((other) => again.has(state.parentOf(other) ?? -1)));
  const reset = tasksWhere(
    state,
    (other) => !removed.has(other) && (again.has(other) || state.isHardFailure(other) || wasCutOff(state, other)),
  );
  const anew = reset.filter((other) => again.has(other) && ["nested", "map"].includes(state.definition(other).kind));
  return {
    reset,
    ...(anew.length > 0 && { anew }),
    ...(removed.size > 0 && { removed: [...removed] }),
    ...(params !== undefined && { params: { task, params } }),
  };
}

/** Status and output that a user gives a failed node. */
export interface Settlement {
  readonly task: number;
  readonly status: SettledByUser["status"];
  readonly output: Payload | undefined;
}

/**
 * Sets a failed node to the status that the user chose; runs what the failure kept from running, unless another failure
 * keeps it.
 */
export function settle(transition: DagTransition, settlement: Settlement): Reopening {
  const { state } = transition;
  const { task, status, output } = settlement;
  refuseUnlessEnded(transition, status === "Success" ? "mark a task as succeeded in" : "skip a task of");
  if (!state.isHardFailure(task)) {
    throw new EngineError(
      "TASK_STATE",
      `${nameOf(transition, task)} is ${statusOf(state.phase(task))}; only a failed task that was not skipped can be marked as succeeded or skipped`,
    );
  }
  if (output !== undefined) refuseLargeOutput(output, `the output of ${nameOf(transition, task)}`);
  const settled: SettledByUser = {
    task,
    status,
    ...(output !== undefined && { output }),
    ...(status === "Success" && choice(transition, task, output)),
  };
  const failures = tasksWhere(state, (other) => other !== task && state.isHardFailure(other));
  const blocked = new Set(descendants(state, failures, { edges: "live" }));
  return { settled: [settled], reset: tasksWhere(state, (other) => wasCutOff(state, other) && !blocked.has(other)) };
}

/** The result that a user gives to a decision chooses among its edges, as one of its own would have. */
function choice(
  transition: DagTransition,
  task: number,
  output: Payload | undefined,
): { edgesOff?: readonly number[] } {
  const { state } = transition;
  if (state.definition(task).kind !== "decision") return {};
  const value: unknown = typeof output === "string" ? JSON.parse(output) : output;
  const chosen = edgesNotTaken(value, decisionEdges(state.graph, task));
  if ("failure" in chosen) {
    throw new EngineError(
      "DECISION_INVALID",
      `${nameOf(transition, task)} cannot be marked as succeeded: ${chosen.failure.message}`,
    );
  }
  return { edgesOff: chosen.off };
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

/** Refuses a task on a dead branch: it would only be canceled again. */
function refuseDeadBranch(transition: DagTransition, task: number): void {
  const phase = transition.state.phase(task);
  if (phase !== Phase.canceledBranch && phase !== Phase.removed) return;
  const because =
    phase === Phase.removed
      ? "is no longer part of the instance"
      : "is on a branch that was not taken; re-run the decision";
  throw new EngineError("TASK_STATE", `cannot re-run from ${nameOf(transition, task)}: it ${because}`);
}

function refuseUnlessEnded(transition: DagTransition, operation: string): void {
  if (!hasEnded(transition.state.status)) throw refusal(transition, operation, "only what has ended is reopened");
}

function refusal({ state, identity }: DagTransition, operation: string, because: string): EngineError {
  const message = `cannot ${operation} instance "${localName(identity.id)}": it is ${state.status}, and ${because}`;
  return new EngineError("INSTANCE_STATE", message);
}
