import type { ChildOrder } from "../command.ts";
import { abortJobs } from "../dispatched-jobs.ts";
import { tellParent } from "../parent.ts";
import type { EndStatus } from "../status.ts";
import type { DagTransition } from "./dag-transition.ts";

/** Ends the instance: stops its running tasks and children, and reports to its parent. */
export function end(transition: DagTransition, status: EndStatus, reason?: string): void {
  const { state } = transition;
  if (state.inFlight > 0) {
    const tasks = state.tasksInFlight();
    abortJobs(transition);
    tellChildren(transition, { type: "TerminateInstance", reason: reason ?? `parent instance ended in ${status}` });
    transition.emit({ type: "TasksStopped", tasks });
  }
  transition.emit(reason === undefined ? { type: "InstanceEnded", status } : { type: "InstanceEnded", status, reason });
  if (state.parent !== undefined) transition.command(tellParent(state, state.parent, status));
}

export function tellChildren(transition: DagTransition, tell: ChildOrder): void {
  const { state } = transition;
  if (state.childrenInFlight === 0) return;
  for (const task of state.tasksInFlight()) {
    const childId = state.record(task)?.childId;
    if (childId !== undefined) transition.command({ type: "TellChild", childId, tell });
  }
}
