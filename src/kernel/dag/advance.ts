import { attemptIds, childIdOf, type ParentAddress } from "../address.ts";
import type { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";
import { end } from "./ending.ts";
import { Phase } from "../task-state.ts";

/** Does what the state now allows. */
export function advance(step: DagTransition): void {
  const { state } = step;
  if (state.status !== "Running") return;
  passOver(step);
  if (!state.pausing && !state.failing) {
    decide(step);
    schedule(step);
  }
  conclude(step);
}

/** Ends the instance, or pauses it, when nothing is left to wait for. */
export function conclude(step: DagTransition): void {
  const { state } = step;
  if (state.unfinished === 0 || (state.failing && state.inFlight === 0)) {
    const failed = firstHardFailure(state);
    if (failed === undefined) end(step, "Success");
    else end(step, "Failed", failureReason(state, failed));
  } else if (state.pausing && state.jobsInFlight + state.decisionsInFlight === 0) {
    step.emit({ type: "InstancePaused" });
  }
}

export function failureReason(state: DagState, task: number): string {
  return `task "${state.definition(task).name}" failed: ${state.record(task)?.failure?.message}`;
}

/** Those not known to have started; the dispatcher says which it could take back. */
export function withdrawScheduled(step: DagTransition): void {
  const { state } = step;
  const tasks = jobsInFlight(state).filter((task) => state.phase(task) === Phase.scheduled);
  if (tasks.length > 0) step.command({ type: "WithdrawTasks", attemptIds: attemptIds(step.address, tasks, state) });
}

export function jobsInFlight(state: DagState): number[] {
  if (state.jobsInFlight === 0) return [];
  return state.tasksInFlight().filter((task) => state.definition(task).kind === "job");
}

/** Dead branches and disabled nodes, and what they unblock in turn. */
function passOver(step: DagTransition): void {
  const { toCancel, toSkip } = step.state;
  while (toCancel.size > 0 || toSkip.size > 0) {
    if (toCancel.size > 0) step.emit({ type: "TasksCanceled", tasks: [...toCancel], cause: "branch" });
    if (toSkip.size > 0) step.emit({ type: "TasksSkipped", tasks: [...toSkip] });
  }
}

function decide(step: DagTransition): void {
  const { state } = step;
  if (state.toDecide.size === 0) return;
  const tasks = [...state.toDecide];
  step.emit({ type: "TasksScheduled", tasks });
  for (const task of tasks) step.command({ type: "EvaluateDecision", task, attempt: state.attempt(task) });
}

function schedule(step: DagTransition): void {
  const { state } = step;
  const places = state.maxConcurrentTasks - state.jobsInFlight - state.childrenInFlight;
  const tasks: number[] = [];
  while (tasks.length < places) {
    const task = state.ready.pop();
    if (task === undefined) break;
    tasks.push(task);
  }
  if (tasks.length === 0) return;
  step.emit({ type: "TasksScheduled", tasks });
  const isJob = (task: number): boolean => state.definition(task).kind === "job";
  const jobs = tasks.every(isJob) ? tasks : tasks.filter(isJob);
  if (jobs.length > 0) step.command({ type: "RunTasks", tasks: jobs });
  for (const task of tasks) if (!isJob(task)) startChild(step, task);
}

/** A child that failed before goes on where it stopped; one that is not there is begun. */
function startChild(step: DagTransition, task: number): void {
  const { state, address } = step;
  const attempt = state.attempt(task);
  const depth = (state.parent?.depth ?? 0) + 1;
  const parent: ParentAddress = { ...address, task, attempt, depth };
  const before = state.record(task);
  const isNew = before?.childId === undefined || before.isChildMissing;
  const childId = before?.childId ?? childIdOf(address, state.definition(task).name);
  step.emit({ type: "ChildStarted", task, attempt, childId });
  if (isNew) step.command({ type: "StartChild", task, childId, parent });
  else step.command({ type: "TellChild", childId, tell: { type: "RetryInstance", parent } });
}

function firstHardFailure(state: DagState): number | undefined {
  for (let task = 0; task < state.size; task++) if (state.isHardFailure(task)) return task;
  return undefined;
}
