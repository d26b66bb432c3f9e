import { EngineError } from "../base/error.ts";
import type { Task } from "../authoring/task.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";

/** Turns a generated task into a node of its instance. The parent is left out of its dependencies, being implied. SUBTASK_INVALID. */
export function subTaskNode(task: Task, parentName: string): NodeSpec {
  if (!isTask(task)) {
    throw new EngineError(
      "SUBTASK_INVALID",
      `task "${parentName}" generates a sub-task that TaskBuilder did not build`,
    );
  }
  const conditional = task.dependencies.find(({ when }) => when !== undefined);
  if (conditional !== undefined) {
    const message = `sub-task "${task.name}" waits for "${conditional.name}" with a condition; only a workflow's own tasks can`;
    throw new EngineError("SUBTASK_INVALID", message);
  }
  const dependsOn = task.dependencies.map(({ name }) => name).filter((name) => name !== parentName);
  const node: NodeSpec = { ...task.toNode(task.id), nodeName: task.name };
  return dependsOn.length === 0 ? node : { ...node, dependsOn };
}

/** Checks the shape, not the class: a process may load two copies of the library. */
function isTask(value: unknown): value is Task {
  return typeof value === "object" && value !== null && "toNode" in value && typeof value.toNode === "function";
}
