import type { DetachedAttempt } from "../dispatch/dispatcher-options.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import { InstanceTaskRun } from "../runtime/instance-task-run.ts";

/**
 * Lets the shard of an attempt wait for it: it keeps running on a worker that has disconnected, and that announces it when
 * it connects again.
 */
export function delegate(run: TaskRun, { worker, isLost, heartbeat }: DetachedAttempt): void {
  if (isLost) return;
  // No shard waits for a task of no instance.
  if (!(run instanceof InstanceTaskRun)) run.listener.onEnded(run, { kind: "lost" }, { worker });
  else {
    run.onHeartbeat(heartbeat);
    run.actor.shard.trackDelegated(run, worker);
  }
}
