import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import type { AttemptListener, TaskRun } from "../dispatch/task-run.ts";
import type { Input } from "./input.ts";
import type { ReportedRun } from "./delegated-attempts.ts";

/**
 * The run of an attempt whose instance is owned by another member, announced by the worker that runs it. This member follows
 * it like its own and reports its end. Fields that matter only before the start are left empty.
 */
export function hostedRun(
  descriptor: AttemptDescriptor,
  report: (run: ReportedRun, input: Input, onDelivered: () => void) => void,
): TaskRun {
  const { startedAt: _, timeoutMs = Infinity, ...identity } = descriptor;
  const { task, attempt, generation } = identity;
  const listener: AttemptListener = {
    onStarted: () => undefined,
    onEnded: (_run, outcome, execution, acknowledge) => {
      const input: Input = { type: "AttemptEnded", task, attempt, generation, outcome, ...execution };
      report(identity, input, () => acknowledge?.());
    },
    onWithdrawn: (_run, heartbeat) => {
      const withdrawn = { task, attempt, ...(heartbeat !== undefined && { heartbeat }) };
      report(identity, { type: "AttemptsWithdrawn", runs: [withdrawn] }, () => undefined);
    },
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
    completionToken: undefined,
    listener,
  };
}
