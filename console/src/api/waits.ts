import type { InstanceView, TaskView } from "./model.ts";

/** One thing that an instance waits for. */
export type Wait = InstanceView["waiting"][number];

/** The phrase after "waits for" of one task; undefined if only its predecessors keep it. */
export function waitTextOf(task: TaskView): string | undefined {
  return task.wait?.text;
}
