import { localName } from "../base/namespace.ts";
import type { WaitReason } from "../dispatch/wait-reason.ts";
import { reasonInside } from "../views/wait-inside.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";

/** Tasks that wait inside one instance, as they are counted. */
export interface CountedWait {
  readonly workflow: string;
  /** Undefined if it is not known without reading the history, and for what has no job. */
  readonly job: string | undefined;
  readonly reason: WaitReason;
  readonly count: number;
}

export function countWaitsOf(entry: InstanceEntry, count: (wait: CountedWait) => void): void {
  const { actor, status, waitingTasks } = entry;
  const workflow = localName(entry.workflow);
  if (status === "Ready") return count({ workflow, job: undefined, reason: "workflow-limit", count: waitingTasks });
  if (actor !== undefined) return countInMemory(actor, workflow, count);
  // Tasks above the limit of their instance have others in flight beside them, which keep the instance in memory.
  count({ workflow, job: undefined, reason: status === "Paused" ? "paused" : "retry", count: waitingTasks });
}

function countInMemory(actor: InstanceActor, workflow: string, count: (wait: CountedWait) => void): void {
  const { id, shard } = actor;
  const { state } = actor.machine;
  for (const task of state.waitingTasks()) {
    const definition = state.definition(task);
    const reason = reasonInside(state, task);
    if (reason === undefined) continue;
    const isJob = definition.kind === "job";
    const job = isJob ? localName(shard.resolveJob(id, definition, state.params(task))) : undefined;
    count({ workflow, job, reason, count: 1 });
  }
}
