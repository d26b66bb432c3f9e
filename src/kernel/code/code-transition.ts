import { attemptIds } from "../address.ts";
import type { ChildOrder, Command } from "../command.ts";
import type { Event } from "../event.ts";
import { Transition } from "../transition.ts";
import type { WhenParentEnds } from "../node-spec.ts";
import type { EndStatus } from "../status.ts";
import type { CodeState } from "./code-state.ts";

type TellChild = Extract<Command, { type: "TellChild" }>;

interface Child {
  readonly childId: string;
  readonly whenParentEnds: WhenParentEnds;
}

/** One message on its way through an instance of code. */
export class CodeTransition extends Transition<CodeState> {
  tellChildren(tell: ChildOrder): void {
    for (const order of ordersOf(this.#children(), tell)) this.command(order);
  }

  #children(): Child[] {
    return [...this.#childrenCalled(), ...this.state.detachedChildren];
  }

  /** A user's cancel reaches all that the code waits for. A timeout is a way to end, and leaves alone what is to be left alone. */
  #childrenToCancel(): Child[] {
    if (this.state.compensationMs === undefined) return this.#children();
    return this.#children().filter(({ whenParentEnds }) => whenParentEnds !== "leave");
  }

  /** Those that the code waits for, or may wait for yet. */
  #childrenCalled(): Child[] {
    const { state } = this;
    if (state.childrenInFlight === 0) return [];
    return state.tasksInFlight().flatMap((task) => {
      const childId = state.record(task)?.childId;
      const { whenParentEnds = "terminate" } = state.definition(task);
      return childId === undefined ? [] : [{ childId, whenParentEnds }];
    });
  }

  /** The code is asked to end: what it waits for is called off, and its children are asked to end too. */
  cancel(reason: string, event: Extract<Event, { type: "CancelRequested" | "CancelHeeded" }>): void {
    const orders = ordersOf(this.#childrenToCancel(), { type: "CancelInstance", reason });
    this.emit(event);
    this.#stopTasks(orders);
  }

  /** The code begins anew, and what it has left running belongs to a generation that is over. */
  stopGeneration(reason: string): void {
    this.#stopTasks(ordersAtEnd(this.#childrenCalled(), reason));
  }

  /** What runs is stopped, and what waits for another attempt is not tried again. */
  #stopTasks(orders: readonly TellChild[]): void {
    const { state } = this;
    if (state.readyCount > 0 || !state.retryWaits.isEmpty) {
      const waiting = [...state.readyTasks(), ...state.retryWaits.numbers];
      this.emit({ type: "TasksCanceled", tasks: waiting, cause: "instance-ended" });
    }
    const stopped = state.tasksInFlight();
    const jobs = stopped.filter((task) => state.definition(task).kind === "job");
    if (jobs.length > 0) this.command({ type: "AbortTasks", attemptIds: attemptIds(this.address, jobs, state) });
    for (const order of orders) this.command(order);
    if (stopped.length > 0) this.emit({ type: "TasksStopped", tasks: stopped });
  }

  /** What the code has left running goes on to no avail, so it is stopped; and its parent hears of the end. */
  end(status: EndStatus, result: Omit<Extract<Event, { type: "InstanceEnded" }>, "type" | "status">): void {
    const { state } = this;
    const reason = result.reason ?? `parent instance ended in ${status}`;
    this.#stopTasks(ordersAtEnd(this.#children(), reason));
    this.emit({ type: "InstanceEnded", status, ...result });
    if (state.parent !== undefined) this.command(tellParent(state, state.parent, status));
  }
}

function ordersOf(children: readonly Child[], tell: ChildOrder): TellChild[] {
  return children.map(({ childId }) => ({ type: "TellChild", childId, tell }));
}

/** Children are terminated, asked to end, or left alone, as was said when they were asked for. */
function ordersAtEnd(children: readonly Child[], reason: string): TellChild[] {
  return children.flatMap(({ childId, whenParentEnds }): TellChild[] => {
    if (whenParentEnds === "leave") return [];
    const type = whenParentEnds === "cancel" ? "CancelInstance" : "TerminateInstance";
    return [{ type: "TellChild", childId, tell: { type, reason } }];
  });
}

export function tellParent(
  { reason, output }: CodeState,
  parent: NonNullable<CodeState["parent"]>,
  status: EndStatus,
): Extract<Command, { type: "TellParent" }> {
  return {
    type: "TellParent",
    parent,
    status,
    ...(reason !== undefined && { reason }),
    ...(output !== undefined && { output }),
  };
}
