import { childIdOf, type ParentAddress } from "../kernel/address.ts";
import type { StartChild, TellParent } from "../kernel/command.ts";
import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";

/** The commands that start its children again, for a parent that may have missed their messages. */
export function startsOfChildren({ kind, address, state }: Machine): StartChild[] {
  const depth = (state.parent?.depth ?? 0) + 1;
  return state.tasksInFlight().flatMap((task): StartChild[] => {
    const record = state.record(task);
    if (record?.childId === undefined || state.definition(task).kind !== "nested") return [];
    const parent = { ...address, task, attempt: record.attempt, depth };
    const { childId } = record;
    const start = { type: "StartChild", task, childId, parent } as const;
    if (kind === "dag") return [start];
    const input = state.params(task);
    const isGivenId = childId !== childIdOf(address, task);
    return [{ ...start, ...(input !== undefined && { input }), ...(isGivenId && { isGivenId }) }];
  });
}

/** The report of an ended child to its parent; undefined while it has not ended. */
export function endFor(machine: Machine, parent: ParentAddress): TellParent | undefined {
  return hasEnded(machine.status) ? machine.tellParent(parent, machine.status) : undefined;
}
