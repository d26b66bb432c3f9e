import { EngineError } from "../../base/error.ts";
import { localName } from "../../base/namespace.ts";
import type { ContextPatch } from "../event.ts";
import type { StopTask } from "../input.ts";
import { refuseLargeContext } from "../size-limits.ts";
import { advance } from "./advance.ts";
import type { NodeSpec } from "../node-spec.ts";
import { type DagTransition, nameOf } from "./dag-transition.ts";
import { refuseIfEnded } from "../refusals.ts";
import { stopTask } from "../task-reports.ts";
import { followFailure } from "./following-failure.ts";
import { checkSubTasks } from "./sub-tasks.ts";
import { isFinished, statusOf } from "../task-state.ts";

// Users' changes to an instance that has not ended.

export function updateContext(transition: DagTransition, patch: ContextPatch): void {
  refuseIfEnded(transition.state, transition.identity.id, "update the context of");
  const what = `the context of instance "${localName(transition.identity.id)}" with this patch`;
  refuseLargeContext(transition.state.context.patched(patch), what);
  transition.emit({ type: "ContextPatched", patch });
}

export function updateParams(transition: DagTransition, task: number, params: string): void {
  refuseIfEnded(transition.state, transition.identity.id, "update the parameters of a task of");
  const status = statusOf(transition.state.phase(task));
  if (status !== "Pending") {
    throw new EngineError(
      "TASK_STATE",
      `cannot update the parameters of ${nameOf(transition, task)}: it is ${status}, not Pending`,
    );
  }
  transition.emit({ type: "TaskParamsUpdated", task, params });
}

/**
 * Stops a task, which counts as failed: successors that may skip its failure run, otherwise the workflow's failure
 * policy decides.
 */
export function stop(transition: DagTransition, input: StopTask): void {
  const wasFailing = transition.state.failing;
  stopTask(transition, input);
  if (transition.state.isHardFailure(input.task)) followFailure(transition, input.task, wasFailing);
  advance(transition);
}

export function addSubTask(transition: DagTransition, parent: number, node: NodeSpec): void {
  refuseIfEnded(transition.state, transition.identity.id, "add a sub-task to");
  const { state, identity } = transition;
  const phase = state.phase(parent);
  if (isFinished(phase) && (!state.isPassed(parent) || state.isComplete(parent))) {
    throw new EngineError(
      "TASK_STATE",
      `cannot add a sub-task to ${nameOf(transition, parent)}: it is ${statusOf(phase)} and what comes after it may have started`,
    );
  }
  for (const checked of checkSubTasks(state, parent, [node], identity.limits.subTasksMax)) {
    transition.emit({ type: "TaskAdded", parent, node: checked });
  }
  advance(transition);
}
