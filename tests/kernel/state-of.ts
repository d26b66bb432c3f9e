import type { DagMachine } from "../../src/kernel/dag/dag-machine.ts";

/** All that an instance knows, as plain data: two machines with the same answer will do the same from here on. */
export function stateOf(machine: DagMachine): unknown {
  const { state } = machine;
  const tasks = Array.from({ length: state.size }, (_, task) => ({
    phase: state.phase(task),
    record: { ...state.record(task) },
    definition: state.definition(task),
    params: state.params(task),
    parent: state.parentOf(task),
    subTasks: [...state.subTasksOf(task)],
    siblingsBefore: [...state.siblingsBefore(task)],
    siblingsAfter: [...state.siblingsAfter(task)],
    isComplete: state.isComplete(task),
    rank: state.rank(task),
    successors: state.successors(task),
  }));
  const plain = Object.entries(state).filter(([, value]) => typeof value !== "object");
  return {
    ...Object.fromEntries(plain),
    parent: state.parent,
    address: machine.address,
    nextWake: machine.nextWake(),
    ready: [...state.ready.tasks],
    toCancel: [...state.toCancel],
    toSkip: [...state.toSkip],
    toDecide: [...state.toDecide],
    retryWaits: [...state.retryWaits.numbers],
    context: [...state.context.entries],
    contextBytes: state.context.bytes,
    result: state.resultFor("Success"),
    edgesOff: Array.from(state.graph.edgeTo, (_, edge) => state.isEdgeOff(edge)),
    tasks,
  };
}
