import { isoText } from "../base/time-limits.ts";
import type { TaskWait } from "../dispatch/wait-reason.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { InstanceState } from "../kernel/instance-state.ts";
import type { Machine } from "../kernel/machine.ts";
import { isInFlight, Phase } from "../kernel/task-state.ts";

/** The reason why a task has not been handed to the dispatcher; undefined where its predecessors are the reason. */
export function reasonInside(state: InstanceState, task: number): "paused" | "retry" | "instance-limit" | undefined {
  if (state.failing) return undefined;
  const phase = state.phase(task);
  if (phase !== Phase.retryWait && phase !== Phase.ready) return undefined;
  if (state.status === "Paused" || state.pausing) return "paused";
  return phase === Phase.retryWait ? "retry" : "instance-limit";
}

/** The wait of a task that the dispatcher does not have; undefined where its predecessors are the reason. */
export function waitInside(state: InstanceState, task: number): TaskWait | undefined {
  const awaiting = state.phase(task) === Phase.awaiting ? state.record(task)?.awaiting : undefined;
  if (awaiting !== undefined) {
    const { deadline: dueAt } = awaiting;
    return { reason: "outside", text: `completion from outside, until ${isoText(dueAt)}`, dueAt };
  }
  const reason = reasonInside(state, task);
  if (reason === undefined) return undefined;
  if (state.phase(task) === Phase.retryWait) {
    return { reason, text: `its next attempt at ${isoText(state.record(task)?.retryAt ?? 0)}` };
  }
  if (reason === "paused") return { reason, text: "the instance to be resumed" };
  const { maxConcurrentTasks: max } = state;
  return { reason, text: `a place among the instance's ${max} concurrent tasks`, max };
}

/** Time since which a task waits; undefined where no event tells it. */
export function waitingSince(machine: Machine, task: number): number | undefined {
  const { state } = machine;
  const record = state.record(task);
  if (state.phase(task) === Phase.awaiting) return record?.awaiting?.since;
  if (isInFlight(state.phase(task))) return record?.scheduledAt;
  if (state.phase(task) === Phase.retryWait) return record?.endedAt;
  const readyAt = machine instanceof DagMachine ? readySince(machine, task) : undefined;
  return latest([readyAt, record?.scheduledAt, record?.endedAt]);
}

/** Time at which the last task that it depends on has ended. */
function readySince({ state }: DagMachine, task: number): number | undefined {
  const { graph } = state;
  const edges = task < graph.size ? [...graph.inEdges(task)].filter((edge) => !state.isEdgeOff(edge)) : [];
  const parent = state.parentOf(task);
  const before = [
    ...edges.map((edge) => graph.edgeFrom[edge] as number),
    ...state.siblingsBefore(task),
    ...(parent === undefined ? [] : [parent]),
  ];
  return latest([state.startedAt, ...before.map((each) => state.record(each)?.endedAt)]);
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
