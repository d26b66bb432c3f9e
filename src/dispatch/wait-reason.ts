/**
 * The reason why a task waits, as a code for programs; `text` is for people.
 *
 * `workflow-limit`: the maximum of instances of its workflow run. `instance-limit`: the maximum of tasks of its instance
 * run. `paused`: its instance is paused. `retry`: its next attempt is not due. `no-worker`: no worker has its job. `domain`:
 * its domain is full, or has no slots. `slot`: the pool is full, or all workers with its job are. `isolation`: tasks that
 * were lost with their process run alone. `engine`: the process starts nothing at present.
 */
export type WaitReason =
  | "workflow-limit"
  | "instance-limit"
  | "paused"
  | "retry"
  | "no-worker"
  | "domain"
  | "slot"
  | "isolation"
  | "engine";

export interface TaskWait {
  readonly reason: WaitReason;
  readonly text: string;
}
