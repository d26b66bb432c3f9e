import { childIdOf, type ParentAddress } from "../address.ts";
import type { StartChild } from "../command.ts";
import { childWorkflow } from "../task-definition.ts";
import type { CodeTransition } from "./code-transition.ts";

export function addressAsParent(transition: CodeTransition, task: number): ParentAddress {
  const { state, address } = transition;
  return { ...address, task, attempt: state.attempt(task), depth: (state.parent?.depth ?? 0) + 1 };
}

type Given = Pick<StartChild, "input" | "isGivenId">;

export function startChild(transition: CodeTransition, task: number, childId: string, given?: Given): void {
  const { state } = transition;
  transition.emit({ type: "TasksScheduled", tasks: [task] });
  const parent = addressAsParent(transition, task);
  const of = childWorkflow(state.definition(task));
  transition.emit({ type: "ChildStarted", task, attempt: parent.attempt, childId });
  if (given !== undefined) transition.command({ type: "StartChild", task, childId, of, parent, ...given });
  else transition.command({ type: "TellChild", childId, tell: { type: "RetryInstance", parent } });
}

export function inputOf(params: string | undefined): { input?: string } {
  return params === undefined ? {} : { input: params };
}

/** Schedules everything that is ready in a fork, which starts children of its own. */
export function scheduleAnew(transition: CodeTransition): void {
  const { state } = transition;
  for (const task of state.readyTasks()) {
    if (state.isChild(task))
      startChild(transition, task, childIdOf(transition.address, task), inputOf(state.params(task)));
  }
  schedule(transition);
}

/** Retries a child that failed before, or starts it if it is missing. */
function retryChild(transition: CodeTransition, task: number): void {
  const { state } = transition;
  const { childId = "", isChildMissing } = state.recordOf(task);
  const isGivenId = childId !== childIdOf(transition.address, task);
  const given = { ...inputOf(state.params(task)), ...(isGivenId && { isGivenId }) };
  startChild(transition, task, childId, isChildMissing ? given : undefined);
}

/** Schedules everything that is ready, activities within their limit. */
export function schedule(transition: CodeTransition): void {
  const { state } = transition;
  if (state.status !== "Running" || state.readyCount === 0) return;
  const isActivity = (task: number): boolean => !state.isChild(task);
  const ready = state.startableTasks();
  const jobs = ready.every(isActivity) ? ready : ready.filter(isActivity);
  for (const task of ready) if (state.isChild(task)) retryChild(transition, task);
  if (jobs.length === 0) return;
  transition.emit({ type: "TasksScheduled", tasks: jobs });
  transition.command({ type: "RunTasks", tasks: jobs });
}
