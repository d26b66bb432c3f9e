import { assert, unreachable } from "../base/assert.ts";
import { DueQueue } from "./due-queue.ts";
import type {
  Execution,
  LastHeartbeat,
  TaskAwaitsCompletion,
  TaskFailed,
  TaskInterrupted,
  TaskStarted,
  TasksWithdrawn,
  TaskSucceeded,
} from "./event.ts";
import type { Failure } from "./failure.ts";
import type { TaskDefinition } from "./task-definition.ts";
import { isInFlight, isUnderWay, newRecord, Phase, type TaskRecord } from "./task-state.ts";

/** A list of so many values. Most instances have one task, and a literal of one is made without a call. */
export function listOf<T>(size: number, value: T): T[] {
  return size === 1 ? [value] : new Array<T>(size).fill(value);
}

/**
 * The tasks of an instance by number: where each stands, what is known of its attempts, and how many are under way. The
 * states of both machines build on it.
 */
export abstract class TaskTable {
  jobsInFlight = 0;
  childrenInFlight = 0;
  decisionsInFlight = 0;
  mapsInFlight = 0;
  /** Items of maps: jobs that are no tasks of the table. */
  itemsInFlight = 0;
  /** Number of jobs that wait to be completed from outside: nobody runs them. */
  awaitingCount = 0;
  /** Tasks that wait to be completed from outside, by their deadlines. */
  readonly completionsDue = new DueQueue();
  #phase: Phase[];
  #records: (TaskRecord | undefined)[];

  constructor(size: number) {
    this.#phase = listOf<Phase>(size, Phase.waiting);
    this.#records = listOf<TaskRecord | undefined>(size, undefined);
  }

  abstract definition(task: number): TaskDefinition;

  get size(): number {
    return this.#phase.length;
  }

  get inFlight(): number {
    return this.#tasksInFlight + this.itemsInFlight;
  }

  get #tasksInFlight(): number {
    return this.jobsInFlight + this.childrenInFlight + this.decisionsInFlight + this.mapsInFlight + this.awaitingCount;
  }

  /** True if the task, or item, is part of the instance. */
  has(task: number): boolean {
    return task < this.size;
  }

  /** Items of maps that are in flight, by number. */
  inFlightItems(): number[] {
    return [];
  }

  /** Allocates lists of exactly one place for the first task: most code has few tasks. */
  addTask(): void {
    if (this.size === 0) {
      this.#phase = [Phase.waiting];
      this.#records = [undefined];
      return;
    }
    this.#phase.push(Phase.waiting);
    this.#records.push(undefined);
  }

  forgetTasks(): void {
    this.#phase = [];
    this.#records = [];
    this.jobsInFlight = 0;
    this.childrenInFlight = 0;
    this.decisionsInFlight = 0;
    this.mapsInFlight = 0;
    this.itemsInFlight = 0;
    this.awaitingCount = 0;
    this.completionsDue.clear();
  }

  phase(task: number): Phase {
    const phase = this.#phase[task];
    assert(phase !== undefined, "a task number is below the instance's size");
    return phase;
  }

  record(task: number): TaskRecord | undefined {
    return this.#records[task];
  }

  recordOf(task: number): TaskRecord {
    return (this.#records[task] ??= newRecord());
  }

  /** Number of the attempt that runs, or ran last; 0 before the first. */
  attempt(task: number): number {
    return this.#records[task]?.attempt ?? 0;
  }

  /** Returns the tasks in flight, by number, without items of maps. */
  tasksInFlight(): number[] {
    const tasks: number[] = [];
    for (let task = 0; tasks.length < this.#tasksInFlight; task++) if (isInFlight(this.phase(task))) tasks.push(task);
    return tasks;
  }

  /** The one place where a phase changes, so that the counts in flight stay right. */
  setPhase(task: number, phase: Phase): void {
    const before = this.phase(task);
    const change = Number(isUnderWay(phase)) - Number(isUnderWay(before));
    this.#phase[task] = phase;
    if (phase === Phase.awaiting) this.awaitingCount++;
    else if (before === Phase.awaiting) {
      this.awaitingCount--;
      this.completionsDue.delete(task);
    }
    if (change === 0) return;
    const { kind } = this.definition(task);
    switch (kind) {
      case "job":
        this.jobsInFlight += change;
        return;
      case "nested":
        this.childrenInFlight += change;
        return;
      case "decision":
        this.decisionsInFlight += change;
        return;
      case "map":
        this.mapsInFlight += change;
        return;
      default:
        unreachable(kind, "the kind of a task");
    }
  }

  scheduleTask(task: number, at: number): void {
    const record = this.recordOf(task);
    if (!record.attemptOpen) {
      record.attempt++;
      record.attemptOpen = true;
      record.interruptions = 0;
    }
    record.scheduledAt = at;
    record.startedAt = undefined;
    record.endedAt = undefined;
    record.awaiting = undefined;
    record.worker = undefined;
    this.setPhase(task, Phase.scheduled);
  }

  startChild(task: number, childId: string): void {
    const record = this.recordOf(task);
    record.childId = childId;
    record.isChildMissing = false;
    this.setPhase(task, Phase.running);
  }

  startTask(event: TaskStarted): void {
    this.#noteExecution(event.task, event);
    this.setPhase(event.task, Phase.running);
  }

  awaitCompletion(event: TaskAwaitsCompletion, at: number): void {
    this.#noteExecution(event.task, event);
    this.recordOf(event.task).awaiting = { since: at, deadline: event.deadline };
    this.setPhase(event.task, Phase.awaiting);
    this.completionsDue.add(event.task, event.deadline);
  }

  noteSuccess(event: TaskSucceeded): void {
    this.#noteExecution(event.task, event);
    const record = this.recordOf(event.task);
    record.output = event.output;
    record.failure = undefined;
    record.heartbeat = undefined;
    record.attemptOpen = false;
  }

  noteInterruption(event: TaskInterrupted): void {
    this.recordOf(event.task).interruptions++;
    this.#noteHeartbeat(event.task, event);
  }

  /**
   * Records a failure. If another attempt follows, the task waits for it; after a final failure the caller ends the
   * task.
   */
  noteFailure(event: TaskFailed, at: number): void {
    this.#noteExecution(event.task, event);
    this.#noteHeartbeat(event.task, event);
    const record = this.recordOf(event.task);
    record.failure = event.failure;
    record.attemptOpen = false;
    record.retryAt = event.retryAt;
    record.isChildMissing = event.isChildMissing === true;
    record.endedAt = at;
    if (event.retryAt === undefined) return;
    record.retriesUsed++;
    this.setPhase(event.task, Phase.retryWait);
  }

  /** Records a stop by a user; the caller ends the task. */
  noteStop(task: number, failure: Failure): void {
    const record = this.recordOf(task);
    record.failure = failure;
    record.attemptOpen = false;
    record.retryAt = undefined;
  }

  noteWithdrawal({ tasks, heartbeats }: TasksWithdrawn): void {
    if (heartbeats === undefined) return;
    for (const task of tasks) {
      const heartbeat = heartbeats[task];
      if (heartbeat !== undefined) this.#noteHeartbeat(task, { heartbeat });
    }
  }

  /** An attempt that sent no details leaves those of the attempts before. */
  #noteHeartbeat(task: number, { heartbeat }: LastHeartbeat): void {
    if (heartbeat !== undefined) this.recordOf(task).heartbeat = heartbeat;
  }

  #noteExecution(task: number, execution: Execution): void {
    const record = this.recordOf(task);
    if (execution.startedAt !== undefined) record.startedAt = execution.startedAt;
    if (execution.worker !== undefined) record.worker = execution.worker;
  }
}
