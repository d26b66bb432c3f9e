import type { InstanceChange } from "../engine/instance-change.ts";
import type { TaskView } from "../views/instance-view.ts";

/** Events name tasks by their numbers, people by their names: finds the one by the other. */
export type TaskByNumber = (task: number) => TaskView | undefined;

/** Of most changes one task or two are looked for, where a map would cost more than it saves. */
const fewTasks = 8;

export function tasksByNumber({ tasks }: Pick<InstanceChange, "tasks">): TaskByNumber {
  if (tasks.length <= fewTasks) return (task) => tasks.find(({ number }) => number === task);
  const byNumber = new Map(tasks.map((task) => [task.number, task]));
  return (task) => byNumber.get(task);
}
