import type { TaskIdentity } from "./waiting-task.ts";

/**
 * The place of a task in a list of queued tasks: by instance, then by number. Every member orders its tasks so, and a
 * cursor means the same to all of them.
 */
export interface QueuePlace {
  readonly instanceId: string;
  /** The task's number; -1 for an instance that waits as a whole. */
  readonly task: number;
}

export function placeOf({ instanceId, task }: Pick<TaskIdentity, "instanceId" | "task">): QueuePlace {
  return { instanceId, task: task ?? -1 };
}

/** Negative if the first place comes first, 0 if both are the same. */
export function comparePlaces(a: QueuePlace, b: QueuePlace): number {
  if (a.instanceId !== b.instanceId) return a.instanceId < b.instanceId ? -1 : 1;
  return a.task - b.task;
}
