import type { ParentAddress } from "../kernel/address.ts";
import type { StartChild, TellParent } from "../kernel/command.ts";
import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import { tellParent } from "../kernel/dag/ending.ts";
import { hasEnded } from "../kernel/status.ts";

/** What would start its children again, for a parent that may have missed what they told it. */
export function startsOfChildren({ address, state }: DagMachine): StartChild[] {
  const depth = (state.parent?.depth ?? 0) + 1;
  return state.tasksInFlight().flatMap((task): StartChild[] => {
    const record = state.record(task);
    if (record?.childId === undefined || state.definition(task).kind !== "nested") return [];
    const parent = { ...address, task, attempt: record.attempt, depth };
    return [{ type: "StartChild", task, childId: record.childId, parent }];
  });
}

/** What a child tells the parent, once it has ended. */
export function endFor({ state }: DagMachine, parent: ParentAddress): TellParent | undefined {
  return hasEnded(state.status) ? tellParent(state, parent, state.status) : undefined;
}
