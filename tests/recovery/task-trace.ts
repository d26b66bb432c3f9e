import type { Event } from "../../src/index.ts";
import type { InstanceEvidence } from "./evidence.ts";

/** One task's way through a history, retold by a model that is as simple as can be. */
export interface TaskTrace {
  readonly task: number;
  attempt: number;
  isOpen: boolean;
  /** The start of the open attempt is on record, since it was last scheduled. */
  isStarted: boolean;
  /** Time of the turn in which it succeeded. */
  succeededAt: number | undefined;
  readonly attempts: Map<number, AttemptTrace>;
}

export interface AttemptTrace {
  /** Time of the turn that first handed it to the dispatcher: nothing of it may be seen before. */
  readonly scheduledAt: number;
  /** The time before which the retry that it is must not start. */
  readonly dueAt: number | undefined;
  /** Time of the turn that says how it ended. */
  endedAt: number | undefined;
  outcome: "open" | "succeeded" | "failed";
  isByWorker: boolean;
  /** Times of the turns that count it as lost. */
  readonly interruptedAt: number[];
}

export interface Trace {
  readonly tasks: ReadonlyMap<number, TaskTrace>;
  readonly generation: number;
  /** When it ran: from each start or reopening to the end that followed. */
  readonly stretches: readonly { readonly from: number; to: number }[];
  readonly deadlines: readonly number[];
  readonly children: ReadonlyMap<number, string>;
  /** What cannot be. */
  readonly violations: readonly string[];
}

/** Follows the events and notes everything that contradicts what came before. */
export function traceTasks(instance: InstanceEvidence): Trace {
  const tracer = new Tracer(instance.id);
  for (const { at, events } of instance.turns) for (const event of events) tracer.follow(event, at);
  return tracer;
}

class Tracer implements Trace {
  readonly tasks = new Map<number, TaskTrace>();
  readonly stretches: { from: number; to: number }[] = [];
  readonly deadlines: number[] = [];
  readonly children = new Map<number, string>();
  readonly violations: string[] = [];
  generation = 0;
  readonly #id: string;
  readonly #retryAt = new Map<number, number>();
  #hasEnded = false;

  constructor(id: string) {
    this.#id = id;
  }

  follow(event: Event, at: number): void {
    if (this.#hasEnded && event.type !== "InstanceReopened") this.#violation(`${event.type} after its end`);
    switch (event.type) {
      case "InstanceCreated":
        this.generation = event.generation;
        return;
      case "InstanceStarted":
        return this.#begin(at, event.deadline);
      case "InstanceReopened":
        if (!this.#hasEnded) this.#violation("reopened before it had ended");
        if (event.generation !== this.generation + 1)
          this.#violation(`generation ${event.generation} after ${this.generation}`);
        this.generation = event.generation;
        for (const task of event.reset)
          if (this.#of(task).succeededAt !== undefined)
            this.#violation(`a retry resets task ${task}, which had succeeded`);
        this.#retryAt.clear();
        return this.#begin(at, event.deadline);
      case "InstanceEnded": {
        this.#hasEnded = true;
        const stretch = this.stretches.at(-1);
        if (stretch !== undefined) stretch.to = at;
        for (const trace of this.tasks.values()) trace.isOpen = false;
        return;
      }
      case "TasksScheduled":
        for (const task of event.tasks) this.#schedule(task, at);
        return;
      case "TaskStarted":
        this.#current(event).isStarted = true;
        return;
      case "TaskSucceeded":
        return this.#succeed(event.task, event, at);
      case "DecisionMade":
        return this.#succeed(event.task, { attempt: this.#of(event.task).attempt }, at);
      case "TaskFailed":
        this.#close(event.task, event, "failed", at);
        if (event.retryAt !== undefined) this.#retryAt.set(event.task, event.retryAt);
        return;
      case "TaskInterrupted":
        return this.#interrupt(event, at);
      case "RetriesDue":
        for (const task of event.tasks) this.#due(task, at);
        return;
      case "ChildStarted":
        this.children.set(event.task, event.childId);
        return;
      default:
    }
  }

  #begin(at: number, deadline: number | undefined): void {
    this.#hasEnded = false;
    this.stretches.push({ from: at, to: Infinity });
    if (deadline !== undefined) this.deadlines.push(deadline);
  }

  #schedule(task: number, at: number): void {
    const trace = this.#of(task);
    if (trace.succeededAt !== undefined) this.#violation(`task ${task} is scheduled after its success`);
    trace.isStarted = false;
    if (trace.isOpen) return;
    trace.isOpen = true;
    trace.attempt++;
    trace.attempts.set(trace.attempt, {
      scheduledAt: at,
      dueAt: this.#retryAt.get(task),
      endedAt: undefined,
      outcome: "open",
      isByWorker: false,
      interruptedAt: [],
    });
    this.#retryAt.delete(task);
  }

  #succeed(task: number, event: { attempt: number; worker?: string }, at: number): void {
    const trace = this.#of(task);
    if (trace.succeededAt !== undefined) this.#violation(`task ${task} succeeds twice`);
    this.#close(task, event, "succeeded", at);
    trace.succeededAt = at;
  }

  #close(task: number, event: { attempt: number; worker?: string }, outcome: "succeeded" | "failed", at: number): void {
    const trace = this.#current({ task, attempt: event.attempt });
    trace.isOpen = false;
    const attempt = trace.attempts.get(event.attempt);
    if (attempt === undefined) return;
    attempt.outcome = outcome;
    attempt.endedAt = at;
    attempt.isByWorker = event.worker !== undefined;
  }

  #interrupt(event: { task: number; attempt: number }, at: number): void {
    const trace = this.#current(event);
    if (!trace.isStarted)
      this.#violation(`an interruption of task ${event.task} is counted although its start is not on record`);
    trace.isStarted = false;
    trace.attempts.get(event.attempt)?.interruptedAt.push(at);
  }

  #due(task: number, at: number): void {
    const retryAt = this.#retryAt.get(task);
    if (retryAt === undefined) this.#violation(`a retry of task ${task} comes due that was never planned`);
    else if (at < retryAt) this.#violation(`a retry of task ${task} comes due ${retryAt - at} ms early`);
  }

  /** The task, which must be at that attempt. */
  #current({ task, attempt }: { task: number; attempt: number }): TaskTrace {
    const trace = this.#of(task);
    if (!trace.isOpen) this.#violation(`a report about task ${task}, attempt ${attempt}, which is not open`);
    if (trace.attempt !== attempt)
      this.#violation(`a report about attempt ${attempt} of task ${task}, which is at ${trace.attempt}`);
    return trace;
  }

  #of(task: number): TaskTrace {
    let trace = this.tasks.get(task);
    if (trace === undefined) {
      trace = { task, attempt: 0, isOpen: false, isStarted: false, succeededAt: undefined, attempts: new Map() };
      this.tasks.set(task, trace);
    }
    return trace;
  }

  #violation(what: string): void {
    this.violations.push(`${this.#id}: ${what}`);
  }
}
