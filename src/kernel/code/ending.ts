import type { ChildOrder, Command } from "../command.ts";
import { abortJobs } from "../dispatched-jobs.ts";
import type { Event, InstanceEnded } from "../event.ts";
import type { WhenParentEnds } from "../node-spec.ts";
import { tellParent } from "../parent.ts";
import type { EndStatus } from "../status.ts";
import type { CodeState } from "./code-state.ts";
import type { CodeTransition } from "./code-transition.ts";

type TellChild = Extract<Command, { type: "TellChild" }>;

const none: readonly never[] = [];

interface Child {
  readonly childId: string;
  readonly whenParentEnds: WhenParentEnds;
}

/** Ends the instance: stops the tasks and children that its code left running, and tells its parent. */
export function end(
  transition: CodeTransition,
  status: EndStatus,
  result: Omit<InstanceEnded, "type" | "status"> = {},
): void {
  const { state } = transition;
  const children = childrenOf(state);
  const orders =
    children.length === 0 ? none : ordersAtEnd(children, result.reason ?? `parent instance ended in ${status}`);
  stopTasks(transition, orders);
  transition.emit({ type: "InstanceEnded", status, ...result });
  if (state.parent !== undefined) transition.command(tellParent(state, state.parent, status));
}

/** Cancels everything that the code waits for, and its children, with the event that asks the code to end. */
export function cancelWaits(
  transition: CodeTransition,
  reason: string,
  event: Extract<Event, { type: "CancelRequested" | "CancelHeeded" }>,
): void {
  const orders = ordersTo(childrenToCancel(transition.state), { type: "CancelInstance", reason });
  transition.emit(event);
  stopTasks(transition, orders);
}

/** Stops the tasks that belong to a generation that is over, because the code continues as new. */
export function stopGeneration(transition: CodeTransition, reason: string): void {
  stopTasks(transition, ordersAtEnd(childrenCalled(transition.state), reason));
}

export function tellChildren(transition: CodeTransition, tell: ChildOrder): void {
  for (const order of ordersTo(childrenOf(transition.state), tell)) transition.command(order);
}

/** Aborts tasks that run, and cancels those that are ready or wait for another attempt. */
function stopTasks(transition: CodeTransition, orders: readonly TellChild[]): void {
  const { state } = transition;
  if (state.readyCount > 0 || !state.retryWaits.isEmpty) {
    const waiting = [...state.readyTasks(), ...state.retryWaits.numbers];
    transition.emit({ type: "TasksCanceled", tasks: waiting, cause: "instance-ended" });
  }
  const stopped = state.inFlight === 0 ? none : state.tasksInFlight();
  abortJobs(transition);
  for (const order of orders) transition.command(order);
  if (stopped.length > 0) transition.emit({ type: "TasksStopped", tasks: stopped });
}

function childrenOf(state: CodeState): readonly Child[] {
  const detached = state.detachedChildren;
  return state.childrenInFlight === 0 ? detached : [...childrenCalled(state), ...detached];
}

/** A user's cancel reaches all children. A timeout ends the instance, so it spares children that outlive their parent. */
function childrenToCancel(state: CodeState): readonly Child[] {
  if (state.compensationMs === undefined) return childrenOf(state);
  return childrenOf(state).filter(({ whenParentEnds }) => whenParentEnds !== "leave");
}

/** Children that the code waits for, or may wait for yet. */
function childrenCalled(state: CodeState): Child[] {
  if (state.childrenInFlight === 0) return [];
  return state.tasksInFlight().flatMap((task) => {
    const childId = state.record(task)?.childId;
    const { whenParentEnds = "terminate" } = state.definition(task);
    return childId === undefined ? [] : [{ childId, whenParentEnds }];
  });
}

function ordersTo(children: readonly Child[], tell: ChildOrder): TellChild[] {
  return children.map(({ childId }) => ({ type: "TellChild", childId, tell }));
}

/** Terminates, cancels or leaves alone each child, as its `whenParentEnds` says. */
function ordersAtEnd(children: readonly Child[], reason: string): TellChild[] {
  return children.flatMap(({ childId, whenParentEnds }): TellChild[] => {
    if (whenParentEnds === "leave") return [];
    const type = whenParentEnds === "cancel" ? "CancelInstance" : "TerminateInstance";
    return [{ type: "TellChild", childId, tell: { type, reason } }];
  });
}
