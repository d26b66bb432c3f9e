import { EngineError } from "../../base/error.ts";
import type { DagState } from "./dag-state.ts";
import type { NodeSpec } from "../node-spec.ts";
import { isFinished } from "../task-state.ts";

/** Throws unless the nodes can join the instance as sub-tasks of the parent. Numbers them: `parent.index`. */
export function checkSubTasks(
  state: DagState,
  parent: number,
  nodes: readonly NodeSpec[],
  subTasksMax: number,
): NodeSpec[] {
  const parentName = state.definition(parent).name;
  const before = state.subTasksOf(parent);
  if (before.length + nodes.length > subTasksMax) {
    throw new EngineError(
      "SUBTASK_LIMIT",
      `task "${parentName}" would have ${before.length + nodes.length} sub-tasks; at most ${subTasksMax} are allowed`,
    );
  }
  const siblings = new Set(before.map((task) => state.definition(task).name));
  return nodes.map((node, index) => {
    const name = node.nodeName;
    if (name === undefined) throw invalid(parentName, "one of them has no name");
    if (state.find(name) !== undefined || siblings.has(name)) {
      throw invalid(parentName, `a task named "${name}" is already in the instance`);
    }
    const dependsOn = (node.dependsOn ?? []).filter((other) => other !== parentName);
    const unknown = dependsOn.find((other) => !siblings.has(other));
    if (unknown !== undefined) {
      throw invalid(
        parentName,
        `"${name}" depends on "${unknown}", which is neither its parent nor a sub-task generated before it by the same parent`,
      );
    }
    const never = dependsOn.find((other) => cannotComplete(state, state.find(other)));
    if (never !== undefined) {
      throw invalid(parentName, `"${name}" depends on "${never}", which will not complete: something failed`);
    }
    siblings.add(name);
    return { ...node, nodeId: `${state.definition(parent).nodeId}.${before.length + index}`, dependsOn };
  });
}

/** True if the task, or one of the sub-tasks below it, ended in a way that keeps its successors from running. */
function cannotComplete(state: DagState, task: number | undefined): boolean {
  if (task === undefined) return false;
  if (isFinished(state.phase(task)) && !state.isPassed(task)) return true;
  return state.subTasksOf(task).some((subTask) => cannotComplete(state, subTask));
}

function invalid(parentName: string, problem: string): EngineError {
  return new EngineError("SUBTASK_INVALID", `sub-tasks of "${parentName}" are refused: ${problem}`);
}
