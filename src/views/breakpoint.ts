import { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { Machine } from "../kernel/machine.ts";
import { isInFlight, Phase, statusOf } from "../kernel/task-state.ts";
import type { InstanceStatus, TaskStatus } from "../kernel/status.ts";
import { taskNumbers } from "./instance-view.ts";
import { localName } from "../base/namespace.ts";

/** The progress of an instance: completed and running tasks, the DAG, and the context that it would continue with. */
export interface Breakpoint {
  readonly instanceId: string;
  readonly status: InstanceStatus;
  readonly completedTasks: readonly string[];
  readonly runningTasks: readonly string[];
  readonly dag: {
    readonly nodes: readonly {
      readonly name: string;
      readonly status: TaskStatus;
      /** Predecessors that are not complete, not counting edges that are off; the task is ready when none is left. */
      readonly inDegree: number;
    }[];
    readonly edges: readonly { readonly from: string; readonly to: string; readonly isOff: boolean }[];
  };
  readonly context: Readonly<Record<string, unknown>>;
  /** Epoch ms of the last change. */
  readonly updatedAt: number;
  readonly spentMs: number;
}

export function viewBreakpoint(machine: Machine, now: number): Omit<Breakpoint, "context"> {
  const { state, address } = machine;
  const tasks = taskNumbers(machine);
  const name = (task: number): string => state.definition(task).name;
  const subTaskEdges = tasks.flatMap((task) => {
    const parent = state.parentOf(task);
    return parent === undefined ? [] : [{ from: name(parent), to: name(task), isOff: false }];
  });
  return {
    instanceId: localName(address.id),
    status: state.status,
    completedTasks: tasks.filter((task) => state.phase(task) === Phase.success).map(name),
    runningTasks: tasks.filter((task) => isInFlight(state.phase(task))).map(name),
    dag: {
      nodes: tasks.map((task) => ({
        name: name(task),
        status: statusOf(state.phase(task)),
        inDegree: machine instanceof DagMachine ? inDegree(machine, task) : 0,
      })),
      edges: [...(machine instanceof DagMachine ? edgesOf(machine, name) : []), ...subTaskEdges],
    },
    updatedAt: state.updatedAt,
    spentMs: state.startedAt === undefined ? 0 : (state.endedAt ?? now) - state.startedAt,
  };
}

function inDegree({ state }: DagMachine, task: number): number {
  const { graph } = state;
  const edges = task < graph.size ? [...graph.inEdges(task)] : [];
  const before = edges.filter((edge) => !state.isEdgeOff(edge)).map((edge) => graph.edgeFrom[edge] as number);
  return [...before, ...state.siblingsBefore(task)].filter((each) => !state.isComplete(each)).length;
}

function edgesOf({ state }: DagMachine, name: (task: number) => string): Breakpoint["dag"]["edges"] {
  const { graph } = state;
  return Array.from(graph.edgeFrom, (from, edge) => ({
    from: name(from),
    to: name(graph.edgeTo[edge] as number),
    isOff: state.isEdgeOff(edge),
  }));
}
