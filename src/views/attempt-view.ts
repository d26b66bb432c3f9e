import { firstItemNumber } from "../kernel/dag/map-items.ts";
import { taskEffects } from "../kernel/event-tasks.ts";
import type { Event } from "../kernel/event.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Machine } from "../kernel/machine.ts";
import type { NodeId } from "../kernel/node-spec.ts";
import type { TaskStatus } from "../kernel/status.ts";
import type { TaskKind } from "../kernel/task-definition.ts";
import { statusOf } from "../kernel/task-state.ts";

/** An attempt of a task. Times are epoch milliseconds. */
export interface TaskAttempt {
  /** The task's number within the instance, as in events. */
  readonly number: number;
  readonly name: string;
  readonly nodeId: NodeId;
  readonly kind: TaskKind;
  /** The generation of the instance that made the attempt. */
  readonly generation: number;
  /** Counts from 1; 0 for a task that ended without one. */
  readonly attempt: number;
  readonly status: TaskStatus;
  /** Address of the process that ran the attempt. */
  readonly worker: string | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Retries made before this attempt. */
  readonly retryCount: number;
  readonly failure: Failure | undefined;
}

/** Folds the attempts of an instance from its turns, which are given in order. */
export class AttemptFold {
  readonly #machine: Machine;
  readonly #attempts = new Map<string, TaskAttempt>();

  /** Takes the machine of the instance before its first turn. */
  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Takes the events of one turn. What an instance did before it continued as new is forgotten. */
  applyTurn(events: readonly Event[], at: number): void {
    for (const event of events) {
      if (event.type === "InstanceContinued") this.#attempts.clear();
      this.#machine.apply(event, at);
      if (taskEffects[event.type] !== "attempt") continue;
      if ("tasks" in event) for (const task of event.tasks) this.#note(task);
      else if ("task" in event) this.#note(event.task);
    }
  }

  /** The attempts by task, generation and attempt. */
  list(): TaskAttempt[] {
    return [...this.#attempts.values()].sort(
      (a, b) => a.number - b.number || a.generation - b.generation || a.attempt - b.attempt,
    );
  }

  #note(task: number): void {
    // Items of maps are listed by page.
    if (task >= firstItemNumber) return;
    const last = attemptOf(this.#machine, task);
    this.#attempts.set(`${task} ${last.generation} ${last.attempt}`, last);
  }
}

/** Returns the last attempt of the task as it is now. */
function attemptOf({ state }: Machine, task: number): TaskAttempt {
  const record = state.record(task);
  const { name, nodeId, kind } = state.definition(task);
  const waitsForRetry = record?.retryAt !== undefined;
  return {
    number: task,
    name,
    nodeId,
    kind,
    generation: state.generation,
    attempt: record?.attempt ?? 0,
    status: waitsForRetry ? "Failed" : statusOf(state.phase(task)),
    worker: record?.worker,
    startedAt: record?.startedAt,
    endedAt: record?.endedAt,
    retryCount: (record?.retriesUsed ?? 0) - (waitsForRetry ? 1 : 0),
    failure: record?.failure,
  };
}
