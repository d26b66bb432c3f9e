import type { ParentAddress } from "../kernel/address.ts";
import type { StartChild, TellParent } from "../kernel/command.ts";
import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";

/** What would start its children again, for a parent that may have missed what they told it. */
export function startsOfChildren({ kind, address, state }: Machine): StartChild[] {
  const depth = (state.parent?.depth ?? 0) + 1;
  return state.tasksInFlight().flatMap((task): StartChild[] => {
    const record = state.record(task);
    if (record?.childId === undefined || state.definition(task).kind !== "nested") return [];
    const parent = { ...address, task, attempt: record.attempt, depth };
    const input = kind === "code" ? state.params(task) : undefined;
    return [{ type: "StartChild", task, childId: record.childId, parent, ...(input !== undefined && { input }) }];
  });
}

/** What a child tells the parent, once it has ended. */
export function endFor(machine: Machine, parent: ParentAddress): TellParent | undefined {
  return hasEnded(machine.status) ? machine.tellParent(parent, machine.status) : undefined;
}
