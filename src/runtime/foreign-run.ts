import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import type { TaskInputs, TaskOwner, TaskRun } from "../dispatch/task-run.ts";
import type { Input } from "../kernel/input.ts";

/**
 * An attempt of an instance that lives with another member, brought here by the worker that runs it. This member follows
 * it like its own, and passes on what comes of it.
 */
export class ForeignRun implements TaskRun {
  readonly attemptId: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  readonly task: number;
  readonly attempt: number;
  readonly generation: number;
  readonly job: string;
  readonly domain: string;
  readonly timeoutMs: number;
  readonly params = "";
  readonly rank = 0;
  readonly successors = 0;
  readonly interruptions = 0;
  readonly isCautious = false;
  readonly owner: TaskOwner;

  constructor(descriptor: AttemptDescriptor, report: (run: ForeignRun, input: Input, onHeard: () => void) => void) {
    this.attemptId = descriptor.attemptId;
    this.instanceId = descriptor.instanceId;
    this.workflowName = descriptor.workflowName;
    this.taskName = descriptor.taskName;
    this.task = descriptor.task;
    this.attempt = descriptor.attempt;
    this.generation = descriptor.generation;
    this.job = descriptor.job;
    this.domain = descriptor.domain;
    this.timeoutMs = descriptor.timeoutMs ?? Infinity;
    const { task, attempt, generation } = descriptor;
    this.owner = {
      started: () => undefined,
      ended: (_run, outcome, execution, acknowledge) => {
        const input: Input = { type: "NodeCompleted", task, attempt, generation, outcome, ...execution };
        report(this, input, () => acknowledge?.());
      },
      withdrawn: () => report(this, { type: "NodesWithdrawn", runs: [{ task, attempt }] }, () => undefined),
    };
  }

  /** Its start was made durable before it was granted. */
  async confirmStart(): Promise<void> {
    return undefined;
  }

  /** Only whoever starts an attempt needs these. */
  inputs(): TaskInputs {
    return { context: {}, outputs: {} };
  }
}
