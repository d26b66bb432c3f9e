import type { LogFields, Logger } from "../base/logger.ts";
import { instanceFields, qualify } from "../base/namespace.ts";
import type { InstanceChange } from "../engine/instance-change.ts";
import type { TaskView } from "../views/instance-view.ts";
import type { Event, Execution } from "../kernel/event.ts";
import { type TaskByNumber, tasksByNumber } from "./tasks-by-number.ts";

/** Limit of remembered attempts that were logged as executing; a process runs fewer at a time. */
const executingMax = 10_000;

export interface InstanceLogParts {
  /** Adds trace ids to the lines that name an instance. */
  readonly logger: Logger;
  /** Logs failures only, where the logger would drop all other lines. */
  readonly failuresOnly: boolean;
}

/** Logs the progress of instances and their tasks. */
export class InstanceLog {
  readonly #parts: InstanceLogParts;
  readonly #logger: Logger;
  readonly #executing = new Set<string>();

  constructor(parts: InstanceLogParts) {
    this.#parts = parts;
    this.#logger = parts.logger;
  }

  observe(change: InstanceChange): void {
    const about = this.#about(change);
    const taskOf = tasksByNumber(change);
    for (const event of change.events) {
      this.#tellInstance(event, change, about);
      this.#tellFailure(event, about, taskOf);
      if (!this.#parts.failuresOnly) this.#tellNode(event, change, about, taskOf);
      // The rest of this turn was copied by a fork.
      if (event.type === "InstanceCreated" && event.forkedFrom !== undefined) return;
    }
  }

  #about(change: InstanceChange): LogFields {
    return { ...instanceFields(qualify(change.namespace, change.instanceId)), workflowId: change.workflowName };
  }

  #tellInstance(event: Event, change: InstanceChange, about: LogFields): void {
    if (event.type === "InstanceStarted") {
      const { trigger, workflowVersion } = change;
      this.#tell({ ...about, trigger, workflowVersion }, "workflow started");
    } else if (event.type === "InstanceEnded") {
      const { status, reason } = event;
      const durationMs = change.at - (change.startedAt ?? change.createdAt);
      const fields = { ...about, status, nodeCount: change.tasks.length, durationMs, ...(reason && { reason }) };
      if (status === "Failed") this.#logger.warn(fields, "workflow completed");
      else this.#tell(fields, "workflow completed");
    }
  }

  #tellFailure(event: Event, about: LogFields, taskOf: TaskByNumber): void {
    if (event.type === "TasksStopped" && event.failure !== undefined) {
      const { message: reason } = event.failure;
      for (const task of event.tasks) this.#logger.warn({ ...about, ...nodeOf(taskOf(task)), reason }, "task stopped");
    }
    if (event.type !== "TaskFailed") return;
    const { attempt, worker, retryAt, failure } = event;
    const error = { type: failure.type, message: failure.message };
    const fields = { ...about, ...nodeOf(taskOf(event.task)), attempt, worker, error, retryAt };
    this.#logger.warn(fields, "task failed");
  }

  #tellNode(
    event: Event,
    { namespace, instanceId: localId, at }: InstanceChange,
    about: LogFields,
    taskOf: TaskByNumber,
  ): void {
    const instanceId = qualify(namespace, localId);
    switch (event.type) {
      case "TaskStarted":
        return this.#tellExecuting(instanceId, event, { ...about, ...nodeOf(taskOf(event.task)) });
      case "ChildStarted": {
        const { attempt, childId: childInstanceId } = event;
        const fields = { ...about, ...nodeOf(taskOf(event.task)), attempt, childInstanceId };
        return this.#tell(fields, "node executing");
      }
      case "DecisionMade":
        return this.#tell({ ...about, ...nodeOf(taskOf(event.task)), result: event.result }, "node completed");
      case "TaskSucceeded":
      case "TaskFailed": {
        const fields = { ...about, ...nodeOf(taskOf(event.task)) };
        const { attempt, startedAt } = event;
        // A short attempt has no start event of its own; its end carries the start time.
        if (startedAt !== undefined) this.#tellExecuting(instanceId, event, fields);
        this.#executing.delete(keyOf(instanceId, event));
        if (event.type === "TaskFailed") return undefined;
        const durationMs = startedAt === undefined ? undefined : at - startedAt;
        return this.#tell({ ...fields, attempt, durationMs }, "node completed");
      }
      case "TaskInterrupted":
        return void this.#executing.delete(keyOf(instanceId, event));
      default:
    }
  }

  #tell(fields: LogFields, message: string): void {
    if (!this.#parts.failuresOnly) this.#logger.info(fields, message);
  }

  /** Logs the start of an attempt once, as far as this process remembers. */
  #tellExecuting(instanceId: string, start: Attempt & Execution, fields: LogFields): void {
    const key = keyOf(instanceId, start);
    if (this.#executing.has(key)) return;
    if (this.#executing.size >= executingMax) this.#executing.clear();
    this.#executing.add(key);
    const { attempt, worker, startedAt } = start;
    this.#tell({ ...fields, attempt, worker, startedAt }, "node executing");
  }
}

interface Attempt {
  readonly task: number;
  readonly attempt: number;
}

function keyOf(instanceId: string, { task, attempt }: Attempt): string {
  return `${instanceId} ${task}:${attempt}`;
}

function nodeOf(task: TaskView | undefined): LogFields {
  return task === undefined ? {} : { nodeId: task.nodeId, taskName: task.name };
}
