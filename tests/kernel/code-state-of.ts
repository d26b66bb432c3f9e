import type { CodeMachine } from "../../src/kernel/code/code-machine.ts";

/** All that an instance of code knows, as plain data: two machines with the same answer will do the same from here on. */
export function codeStateOf(machine: CodeMachine, updates: Iterable<string>): unknown {
  const { state } = machine;
  const tasks = Array.from({ length: state.size }, (_, task) => ({
    phase: state.phase(task),
    record: { ...state.record(task) },
    definition: state.definition(task),
  }));
  const plain = Object.entries(state).filter(([, value]) => typeof value !== "object");
  return {
    ...Object.fromEntries(plain),
    parent: state.parent,
    failure: state.failure,
    forkedFrom: state.forkedFrom,
    address: machine.address,
    nextWake: machine.nextWake(),
    inFlight: [state.jobsInFlight, state.childrenInFlight, state.decisionsInFlight],
    jobsInFlight: machine.jobsInFlight(),
    ready: state.readyTasks(),
    retryWaits: [...state.retryWaits.numbers],
    timersDue: [...state.timersDue.numbers],
    updates: Array.from(updates, (update) => [state.hasUpdate(update), state.answerTo(update)]),
    detachedChildren: state.detachedChildren,
    tasks,
  };
}
