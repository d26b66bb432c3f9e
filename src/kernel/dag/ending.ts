import { attemptIds, type ParentAddress } from "../address.ts";
import type { ChildOrder, TellParent } from "../command.ts";
import type { ContextPatch } from "../event.ts";
import type { EndStatus } from "../status.ts";
import type { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";

/** The instance ends: what runs is stopped, children too, and its parent hears of it. */
export function end(step: DagTransition, status: EndStatus, reason?: string): void {
  const { state } = step;
  const stopped = state.tasksInFlight();
  const jobs = stopped.filter((task) => state.definition(task).kind === "job");
  if (jobs.length > 0) step.command({ type: "AbortTasks", attemptIds: attemptIds(step.address, jobs, state) });
  tellChildren(step, { type: "TerminateInstance", reason: reason ?? `parent instance ended in ${status}` });
  if (stopped.length > 0) step.emit({ type: "TasksStopped", tasks: stopped });
  step.emit({ type: "InstanceEnded", status, ...(reason !== undefined && { reason }) });
  if (state.parent !== undefined) step.command(tellParent(state, state.parent, status));
}

/** A child gives back what it changed of the context that it began with. */
export function tellParent(state: DagState, parent: ParentAddress, status: EndStatus): TellParent {
  const { reason, changedKeys, context } = state;
  const patch: ContextPatch | undefined =
    status === "Success" && changedKeys.size > 0
      ? Object.fromEntries(Array.from(changedKeys, (key) => [key, context.entries.get(key) ?? null]))
      : undefined;
  return { type: "TellParent", parent, status, ...(reason !== undefined && { reason }), ...(patch && { patch }) };
}

export function tellChildren(step: DagTransition, tell: ChildOrder): void {
  const { state } = step;
  if (state.childrenInFlight === 0) return;
  for (const task of state.tasksInFlight()) {
    const childId = state.record(task)?.childId;
    if (childId !== undefined) step.command({ type: "TellChild", childId, tell });
  }
}
