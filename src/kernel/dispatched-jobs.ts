import { attemptIds } from "./address.ts";
import type { InstanceBase } from "./instance-base.ts";
import { Phase } from "./task-state.ts";
import type { TaskTable } from "./task-table.ts";
import type { Transition } from "./transition.ts";

/** Jobs that the dispatcher has, by number: of tasks, and of items of maps. */
export function jobsInFlight(state: TaskTable): number[] {
  const items = state.itemsInFlight === 0 ? [] : state.inFlightItems();
  if (state.jobsInFlight === 0) return items;
  const isHere = (task: number): boolean =>
    state.definition(task).kind === "job" && state.phase(task) !== Phase.awaiting;
  return [...state.tasksInFlight().filter(isHere), ...items];
}

/**
 * Takes back the jobs of an instance that pauses; the dispatcher reports which it could take back. A job that is on record
 * as running may wait with the dispatcher again, because its worker returned it. A failing instance lets such a job
 * finish.
 */
export function withdrawJobs(transition: Transition<InstanceBase>): void {
  if (transition.state.failing) return withdrawScheduled(transition);
  withdraw(transition, jobsInFlight(transition.state));
}

/** Takes back jobs that are not known to have started; the dispatcher reports which it could take back. */
export function withdrawScheduled(transition: Transition<InstanceBase>): void {
  const { state } = transition;
  withdraw(
    transition,
    jobsInFlight(state).filter((task) => state.phase(task) === Phase.scheduled),
  );
}

function withdraw(transition: Transition<InstanceBase>, tasks: readonly number[]): void {
  const { state } = transition;
  if (tasks.length === 0) return;
  transition.command({ type: "WithdrawTasks", attemptIds: attemptIds(transition.address, tasks, state) });
}

export function abortJobs(transition: Transition<InstanceBase>): void {
  const { state } = transition;
  const jobs = jobsInFlight(state);
  if (jobs.length === 0) return;
  transition.command({ type: "AbortTasks", attemptIds: attemptIds(transition.address, jobs, state) });
}
