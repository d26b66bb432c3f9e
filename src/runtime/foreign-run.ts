import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import type { TaskOwner, TaskRun } from "../dispatch/task-run.ts";
import type { Input } from "./input.ts";
import type { HostedRun } from "./remote-attempts.ts";

/**
 * The run of an attempt whose instance is owned by another member, announced by the worker that runs it. This member follows
 * it like its own and reports its end. Fields that matter only before the start are left empty.
 */
export function foreignRun(
  descriptor: AttemptDescriptor,
  report: (run: HostedRun, input: Input, onDelivered: () => void) => void,
): TaskRun {
  const { startedAt: _, timeoutMs = Infinity, ...identity } = descriptor;
  const { task, attempt, generation } = identity;
  const owner: TaskOwner = {
    started: () => undefined,
    ended: (_run, outcome, execution, acknowledge) => {
      const input: Input = { type: "AttemptEnded", task, attempt, generation, outcome, ...execution };
      report(identity, input, () => acknowledge?.());
    },
    withdrawn: () => report(identity, { type: "AttemptsWithdrawn", runs: [{ task, attempt }] }, () => undefined),
  };
  return {
    ...identity,
    timeoutMs,
    params: "",
    rank: 0,
    successors: 0,
    interruptions: 0,
    isCautious: false,
    confirmStart: async () => undefined,
    inputs: () => ({ context: {}, outputs: {} }),
    owner,
  };
}
