import { isoText } from "../base/time-limits.ts";
import type { TaskWait } from "../dispatch/wait-reason.ts";
import type { InstanceState } from "../kernel/instance-state.ts";
import { Phase } from "../kernel/task-state.ts";

/** The reason why a task has not been handed to the dispatcher; undefined where its predecessors are the reason. */
export function waitInside(state: InstanceState, task: number): TaskWait | undefined {
  if (state.failing) return undefined;
  const phase = state.phase(task);
  const isPaused = state.status === "Paused" || state.pausing;
  if (phase === Phase.retryWait) {
    const dueAt = isoText(state.record(task)?.retryAt ?? 0);
    return { reason: isPaused ? "paused" : "retry", text: `its next attempt at ${dueAt}` };
  }
  if (phase !== Phase.ready) return undefined;
  if (isPaused) return { reason: "paused", text: "the instance to be resumed" };
  return {
    reason: "instance-limit",
    text: `a place among the instance's ${state.maxConcurrentTasks} concurrent tasks`,
  };
}
