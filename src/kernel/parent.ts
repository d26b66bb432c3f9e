import type { ParentAddress } from "./address.ts";
import type { TellParent } from "./command.ts";
import type { InstanceBase } from "./instance-base.ts";
import type { EndStatus } from "./status.ts";
import type { Transition } from "./transition.ts";

/** The command that reports to a parent how this instance ended. */
export function tellParent(state: InstanceBase, parent: ParentAddress, status: EndStatus): TellParent {
  const { reason } = state;
  return {
    type: "TellParent",
    parent,
    status,
    ...(reason !== undefined && { reason }),
    ...state.resultFor(status),
  };
}

/**
 * Reports to another attempt of the parent, without a second run: the parent wants its child retried, but a user has
 * done so already, or the child succeeded after its parent had given it up.
 */
export function followParent(transition: Transition<InstanceBase>, parent: ParentAddress): void {
  const { state } = transition;
  transition.emit({ type: "ParentChanged", parent });
  if (state.status === "Success") transition.command(tellParent(state, parent, "Success"));
}
