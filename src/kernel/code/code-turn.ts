import { attemptIds } from "../address.ts";
import type { ChildOrder, Command } from "../command.ts";
import type { Event } from "../event.ts";
import { MessageStep } from "../message-step.ts";
import type { WhenParentEnds } from "../node-spec.ts";
import type { EndStatus } from "../status.ts";
import type { CodeState } from "./code-state.ts";

/** One message on its way through an instance of code. */
export class CodeTurn extends MessageStep<CodeState> {
  tellChildren(tell: ChildOrder): void {
    for (const { childId } of this.#childrenInFlight()) this.command({ type: "TellChild", childId, tell });
  }

  #childrenInFlight(): { childId: string; whenParentEnds: WhenParentEnds }[] {
    const { state } = this;
    if (state.childrenInFlight === 0) return [];
    return state.tasksInFlight().flatMap((task) => {
      const childId = state.record(task)?.childId;
      const { whenParentEnds = "terminate" } = state.definition(task);
      return childId === undefined ? [] : [{ childId, whenParentEnds }];
    });
  }

  /** Its children are terminated, asked to end, or left alone, as was said when they were asked for. */
  #partWithChildren(reason: string): void {
    for (const { childId, whenParentEnds } of this.#childrenInFlight()) {
      if (whenParentEnds === "leave") continue;
      const type = whenParentEnds === "cancel" ? "RequestCancel" : "CancelWorkflow";
      this.command({ type: "TellChild", childId, tell: { type, reason } });
    }
  }

  /** What runs is stopped, and what waits for another attempt is not tried again; children are told. */
  stopTasks(reason: string, tell?: ChildOrder): void {
    const { state } = this;
    if (state.readyCount > 0 || !state.retryWaits.isEmpty) {
      const waiting = [...state.readyTasks(), ...state.retryWaits.numbers];
      this.emit({ type: "TasksCanceled", tasks: waiting, cause: "instance-ended" });
    }
    if (state.inFlight === 0) return;
    const stopped = state.tasksInFlight();
    const jobs = stopped.filter((task) => state.definition(task).kind === "job");
    if (jobs.length > 0) this.command({ type: "AbortTasks", attemptIds: attemptIds(this.address, jobs, state) });
    if (tell === undefined) this.#partWithChildren(reason);
    else this.tellChildren(tell);
    this.emit({ type: "TasksStopped", tasks: stopped });
  }

  /** What the code has left running goes on to no avail, so it is stopped; and its parent hears of the end. */
  end(status: EndStatus, result: Omit<Extract<Event, { type: "InstanceEnded" }>, "type" | "status">): void {
    const { state } = this;
    this.stopTasks(result.reason ?? `parent instance ended in ${status}`);
    this.emit({ type: "InstanceEnded", status, ...result });
    if (state.parent !== undefined) this.command(tellParent(state, state.parent, status));
  }
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
