import { EngineError } from "../../base/error.ts";
import type { ContextPatch } from "../event.ts";
import type { StopTask } from "../input.ts";
import { refuseLargeContext } from "../size-limits.ts";
import { advance } from "./advance.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { DagTransition } from "./dag-transition.ts";
import { refuseIfEnded, stopTask } from "../task-reports.ts";
import { followFailure } from "./reports.ts";
import { admitSubTasks } from "./sub-tasks.ts";
import { isFinished, statusOf } from "../task-state.ts";

// What users change of an instance that has not ended.

export function updateContext(step: DagTransition, patch: ContextPatch): void {
  refuseIfEnded(step.state, step.identity.id, "update the context of");
  const what = `the context of instance "${step.identity.id}" with this patch`;
  refuseLargeContext(step.state.context.patched(patch), what);
  step.emit({ type: "ContextPatched", patch });
}

export function updateParams(step: DagTransition, task: number, params: string): void {
  refuseIfEnded(step.state, step.identity.id, "update the parameters of a task of");
  const status = statusOf(step.state.phase(task));
  if (status !== "Pending") {
    throw new EngineError(
      "TASK_STATE",
      `cannot update the parameters of ${step.nameOf(task)}: it is ${status}, not Pending`,
    );
  }
  step.emit({ type: "TaskParamsUpdated", task, params });
}

/** The task counts as failed: what may skip its failure goes on, otherwise the workflow's failure policy decides. */
export function stopNode(step: DagTransition, input: StopTask): void {
  const wasFailing = step.state.failing;
  stopTask(step, input);
  if (step.state.isHardFailure(input.task)) followFailure(step, input.task, wasFailing);
  advance(step);
}

export function addSubTask(step: DagTransition, parent: number, node: NodeSpec): void {
  refuseIfEnded(step.state, step.identity.id, "add a sub-task to");
  const { state, identity } = step;
  const phase = state.phase(parent);
  if (isFinished(phase) && (!state.isPassed(parent) || state.isComplete(parent))) {
    throw new EngineError(
      "TASK_STATE",
      `cannot add a sub-task to ${step.nameOf(parent)}: it is ${statusOf(phase)} and what comes after it may have started`,
    );
  }
  for (const admitted of admitSubTasks(state, parent, [node], identity.limits.subTasksMax)) {
    step.emit({ type: "TaskAdded", parent, node: admitted });
  }
  advance(step);
}
