import { childIdOf, type ParentAddress } from "../address.ts";
import type { TaskKind } from "../task-definition.ts";
import type { DagState } from "./dag-state.ts";
import type { DagTransition } from "./dag-transition.ts";
import { end } from "./ending.ts";
import { failureReason } from "./following-failure.ts";
import { settleMaps, startMap } from "./maps.ts";

/** Takes every step that the state now allows. */
export function advance(transition: DagTransition): void {
  const { state } = transition;
  if (state.status !== "Running") return;
  do {
    settleMaps(transition);
    if (state.status !== "Running") return;
    passOver(transition);
    if (!state.pausing && !state.failing) {
      decide(transition);
      schedule(transition);
    }
  } while (state.items.hasSettled);
  conclude(transition);
}

/** Ends the instance, or pauses it, when nothing is left to wait for. */
export function conclude(transition: DagTransition): void {
  const { state } = transition;
  if (state.unfinished === 0 || (state.failing && state.inFlight === state.mapsInFlight)) {
    const failed = firstHardFailure(state);
    if (failed === undefined) end(transition, "Success");
    else end(transition, "Failed", failureReason(state, failed));
  } else if (state.pausing && state.jobsInFlight + state.decisionsInFlight + state.itemsInFlight === 0) {
    transition.emit({ type: "InstancePaused" });
  }
}

/** Cancels dead branches and skips disabled nodes, and what they unblock in turn. */
function passOver(transition: DagTransition): void {
  const { toCancel, toSkip } = transition.state;
  while (toCancel.size > 0 || toSkip.size > 0) {
    if (toCancel.size > 0) transition.emit({ type: "TasksCanceled", tasks: [...toCancel], cause: "branch" });
    if (toSkip.size > 0) transition.emit({ type: "TasksSkipped", tasks: [...toSkip] });
  }
}

function decide(transition: DagTransition): void {
  const { state } = transition;
  if (state.toDecide.size > 0) startTasks(transition, [...state.toDecide]);
}

function schedule(transition: DagTransition): void {
  const { state } = transition;
  const taken = state.jobsInFlight + state.childrenInFlight + state.mapsInFlight + state.awaitingCount;
  const places = state.maxConcurrentTasks - taken;
  const first = places > 0 ? state.ready.pop() : undefined;
  if (first === undefined) return;
  // A list that begins with its first task has no room for others, which most lists never get.
  const tasks = [first];
  while (tasks.length < places) {
    const task = state.ready.pop();
    if (task === undefined) break;
    tasks.push(task);
  }
  startTasks(transition, tasks);
}

/** Starts tasks of any kind, all jobs with one command. */
function startTasks(transition: DagTransition, tasks: readonly number[]): void {
  const { state } = transition;
  transition.emit({ type: "TasksScheduled", tasks });
  let jobCount = 0;
  for (const task of tasks) if (isJob(state, task)) jobCount++;
  const jobs = jobCount === tasks.length ? tasks : tasks.filter((task) => isJob(state, task));
  if (jobCount > 0) transition.command({ type: "RunTasks", tasks: jobs });
  if (jobCount === tasks.length) return;
  for (const task of tasks) startTask[state.definition(task).kind](transition, task);
}

function isJob(state: DagState, task: number): boolean {
  return state.definition(task).kind === "job";
}

/** Starts a scheduled task of each kind. */
const startTask: Readonly<Record<TaskKind, (transition: DagTransition, task: number) => void>> = {
  // Part of `RunTasks`.
  job: () => undefined,
  decision: evaluateDecision,
  nested: startChild,
  map: startMap,
};

function evaluateDecision(transition: DagTransition, task: number): void {
  transition.command({ type: "EvaluateDecision", task, attempt: transition.state.attempt(task) });
}

/** Starts the child of a nested node, or retries the child that failed before. */
function startChild(transition: DagTransition, task: number): void {
  const { state, address } = transition;
  const attempt = state.attempt(task);
  const depth = (state.parent?.depth ?? 0) + 1;
  const parent: ParentAddress = { ...address, task, attempt, depth };
  const before = state.record(task);
  const isNew = before?.childId === undefined || before.isChildMissing;
  const childId = before?.childId ?? childIdOf(address, state.definition(task).name);
  transition.emit({ type: "ChildStarted", task, attempt, childId });
  if (isNew) transition.command({ type: "StartChild", task, childId, parent });
  else transition.command({ type: "TellChild", childId, tell: { type: "RetryInstance", parent } });
}

function firstHardFailure(state: DagState): number | undefined {
  for (let task = 0; task < state.size; task++) if (state.isHardFailure(task)) return task;
  return undefined;
}
