/**
 * Why a task does not run, in one word for programs; `text` says it to people.
 *
 * `workflow-limit`: as many instances of its workflow run as may. `instance-limit`: as many tasks of its instance run as
 * may. `paused`: its instance is. `retry`: its next attempt is not due. `no-worker`: nobody has its job. `domain`: its
 * domain is full, or has no slots. `slot`: the pool is full, or the workers that have its job. `isolation`: tasks that
 * were lost with their process run alone. `engine`: the process starts nothing for now.
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

export interface Wait {
  readonly reason: WaitReason;
  readonly text: string;
}
