import type { Machine } from "../kernel/machine.ts";
import { isFailed } from "../kernel/task-state.ts";
import { type EndStatus, hasEnded } from "../kernel/status.ts";
import type { FinishedRow, InstanceRow, TurnText } from "../stores/store.ts";

/** `isActive`: the instance is loaded when its shard is opened. `history`: null if its turns are rows. */
export function instanceRow(
  { machine, isActive }: { readonly machine: Machine; readonly isActive: boolean },
  updatedAt: number,
  history: TurnText | null,
): InstanceRow {
  const { state, address } = machine;
  return {
    key: address.key,
    id: address.id,
    workflow: state.workflow,
    version: state.version,
    status: state.status,
    generation: state.generation,
    wakeAt: machine.nextWake() ?? null,
    active: isActive,
    waitingTasks: isActive ? 0 : state.waitingCount,
    createdAt: state.createdAt,
    updatedAt,
    quarantined: null,
    app: state.app ?? null,
    history,
  };
}

/** The instance row is written only when one of these fields has changed. */
export function isSameRow(a: InstanceRow, b: InstanceRow): boolean {
  return (
    a.status === b.status &&
    a.wakeAt === b.wakeAt &&
    a.active === b.active &&
    a.waitingTasks === b.waitingTasks &&
    a.generation === b.generation &&
    a.history === b.history
  );
}

export function finishedRow(machine: Machine, history: TurnText | null): FinishedRow {
  const { state, address } = machine;
  let tasksFailed = 0;
  for (let task = 0; task < state.size; task++) if (isFailed(state.phase(task))) tasksFailed++;
  return {
    key: address.key,
    id: address.id,
    workflow: state.workflow,
    version: state.version,
    status: endStatus(machine),
    generation: state.generation,
    reason: state.reason ?? null,
    createdAt: state.createdAt,
    endedAt: state.endedAt ?? 0,
    tasks: state.size,
    tasksFailed,
    app: state.app ?? null,
    history,
  };
}

function endStatus(machine: Machine): EndStatus {
  const { status } = machine.state;
  if (!hasEnded(status)) throw new TypeError(`an instance that is ${status} has no end`);
  return status;
}
