import type { InstanceChange } from "../engine/instance-change.ts";
import type { TaskView } from "../views/instance-view.ts";

/** Finds a task by its number, by which events refer to it. */
export type TaskByNumber = (task: number) => TaskView | undefined;

/** Below this size a linear search is cheaper than a map: most changes concern one or two tasks. */
const fewTasks = 8;

export function tasksByNumber({ tasks }: Pick<InstanceChange, "tasks">): TaskByNumber {
  if (tasks.length <= fewTasks) return (task) => tasks.find(({ number }) => number === task);
  const byNumber = new Map(tasks.map((task) => [task.number, task]));
  return (task) => byNumber.get(task);
}
