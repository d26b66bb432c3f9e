import type { AttemptName } from "../../recovery/side-effects.ts";
import type { Moment } from "../evidence.ts";
import { type DurableEvent, eventsOf, type InstanceCommits, isCopied } from "./commit-history.ts";

/** One attempt in a history, as a simple model follows it. */
export interface AttemptTrace {
  readonly task: number;
  readonly attempt: number;
  /** The generation in which it was first scheduled. */
  readonly generation: number;
  /** The moment from which it may run. */
  readonly scheduled: Moment;
  /** The time before which this retry must not start. */
  readonly dueAt: number | undefined;
  end: AttemptEnd | undefined;
  /** The moments from which a start of it was on record. */
  readonly started: Moment[];
  /** The moments at which it was counted as lost. */
  readonly interrupted: Moment[];
}

export interface AttemptEnd extends Moment {
  readonly how: "succeeded" | "failed" | "timed out";
  readonly worker: string | undefined;
}

/** The period from the last start or reopening to the end that followed. */
export interface Stretch {
  readonly from: Moment;
  to: Moment | undefined;
  readonly generation: number;
}

export interface Trace {
  /** Keyed by `generation:task:attempt`. */
  readonly attempts: ReadonlyMap<string, AttemptTrace>;
  readonly stretches: readonly Stretch[];
  /** The periods in which none of its jobs may run. */
  readonly pauses: readonly { readonly from: Moment; to: Moment | undefined }[];
  /** Contradictions in the history. */
  readonly violations: readonly string[];
}

type Numbers = Pick<AttemptName, "generation" | "task" | "attempt">;

export function attemptOf({ attempts }: Trace, numbers: Numbers): AttemptTrace | undefined {
  return attempts.get(keyOf(numbers));
}

/** The key of an attempt. Attempts of code are numbered from 1 again in each generation. */
function keyOf({ generation, task, attempt }: Numbers): string {
  return `${generation}:${task}:${attempt}`;
}

const traces = new WeakMap<InstanceCommits, Trace>();

export function traceOf(instance: InstanceCommits): Trace {
  let trace = traces.get(instance);
  if (trace === undefined) traces.set(instance, (trace = new Tracer(instance)));
  return trace;
}

/** Events that may follow the end of an instance. */
const afterEnd: ReadonlySet<string> = new Set(["InstanceReopened", "InstanceContinued", "ParentChanged"]);

class Tracer implements Trace {
  readonly attempts = new Map<string, AttemptTrace>();
  readonly stretches: Stretch[] = [];
  readonly pauses: { from: Moment; to: Moment | undefined }[] = [];
  readonly violations: string[] = [];
  readonly #id: string;
  readonly #last = new Map<number, number>();
  readonly #open = new Set<number>();
  readonly #succeeded = new Set<number>();
  readonly #retryAt = new Map<number, number>();
  #generation = 0;
  #hasEnded = false;

  constructor(instance: InstanceCommits) {
    this.#id = instance.id;
    for (const event of eventsOf(instance)) this.#follow(event, isCopied(instance, event));
  }

  /** Tasks that were copied from another instance ran there. */
  #follow({ event, landed, turnAt }: DurableEvent, isCopied: boolean): void {
    if (this.#hasEnded && !afterEnd.has(event.type)) this.#wrong(`${event.type} after its end`);
    switch (event.type) {
      case "InstanceCreated":
        this.#generation = event.generation;
        return;
      case "InstanceStarted":
        return void this.stretches.push({ from: landed, to: undefined, generation: this.#generation });
      case "InstancePaused":
        return void this.pauses.push({ from: landed, to: undefined });
      case "InstanceResumed":
        return this.#endPause(landed);
      case "InstanceEnded":
        return this.#end(landed);
      case "InstanceReopened":
        if (!this.#hasEnded) this.#wrong("it is reopened before it has ended");
        return this.#reopen(event.generation, event.reset, landed);
      case "InstanceContinued":
        return this.#beginAnew(event.generation, landed);
      case "TasksScheduled":
        return event.tasks.forEach((task) => this.#schedule(task, landed));
      case "TaskSucceeded":
        return this.#close(event.task, event.attempt, {
          ...landed,
          how: "succeeded",
          worker: isCopied ? undefined : event.worker,
        });
      case "DecisionMade":
        return this.#close(event.task, this.#last.get(event.task) ?? 0, {
          ...landed,
          how: "succeeded",
          worker: undefined,
        });
      case "TaskFailed":
        this.#close(event.task, event.attempt, {
          ...landed,
          how: event.timedOut ? "timed out" : "failed",
          worker: event.worker,
        });
        if (event.retryAt !== undefined) this.#retryAt.set(event.task, event.retryAt);
        return;
      case "TaskStarted":
        return void this.#at(event.task, event.attempt)?.started.push(landed);
      case "TaskInterrupted":
        return void this.#at(event.task, event.attempt)?.interrupted.push(landed);
      case "RetriesDue":
        // A copied event has the time of another machine's clock.
        return isCopied ? undefined : event.tasks.forEach((task) => this.#due(task, turnAt));
      default:
    }
  }

  #end(landed: Moment): void {
    this.#hasEnded = true;
    this.#endPause(landed);
    const stretch = this.stretches.at(-1);
    if (stretch !== undefined) stretch.to = landed;
  }

  #endPause(landed: Moment): void {
    const pause = this.pauses.at(-1);
    if (pause !== undefined) pause.to ??= landed;
  }

  #reopen(generation: number, reset: readonly number[], landed: Moment): void {
    // Code may continue as new twice in a turn, and only the second time is recorded.
    const ahead = generation - this.#generation;
    if (ahead !== 1 && ahead !== 2) this.#wrong(`generation ${generation} follows ${this.#generation}`);
    this.#hasEnded = false;
    this.#generation = generation;
    this.#retryAt.clear();
    this.#open.clear();
    for (const task of reset) this.#succeeded.delete(task);
    this.stretches.push({ from: landed, to: undefined, generation });
  }

  /** Discards the earlier generation; one that was never recorded may have been the first. */
  #beginAnew(generation: number, landed: Moment): void {
    if (this.#generation === 0) this.#generation = generation - 1;
    if (!this.#hasEnded) this.#end(landed);
    this.#last.clear();
    this.#succeeded.clear();
    this.#reopen(generation, [], landed);
  }

  #schedule(task: number, landed: Moment): void {
    if (this.#succeeded.has(task)) this.#wrong(`task ${task} is scheduled after its success`);
    if (this.#open.has(task)) return;
    this.#open.add(task);
    const attempt = (this.#last.get(task) ?? 0) + 1;
    this.#last.set(task, attempt);
    const numbers = { generation: this.#generation, task, attempt };
    this.attempts.set(keyOf(numbers), {
      ...numbers,
      scheduled: landed,
      dueAt: this.#retryAt.get(task),
      end: undefined,
      started: [],
      interrupted: [],
    });
    this.#retryAt.delete(task);
  }

  #close(task: number, attempt: number, end: AttemptEnd): void {
    const trace = this.#at(task, attempt);
    this.#open.delete(task);
    if (end.how === "succeeded") this.#succeeded.add(task);
    if (trace !== undefined) trace.end = end;
  }

  /** The attempt that a report is about, which must be open. */
  #at(task: number, attempt: number): AttemptTrace | undefined {
    if (!this.#open.has(task)) this.#wrong(`a report on task ${task}, attempt ${attempt}, which is not open`);
    if (this.#last.get(task) !== attempt)
      this.#wrong(`a report on attempt ${attempt} of task ${task}, which is at ${this.#last.get(task) ?? 0}`);
    return this.attempts.get(keyOf({ generation: this.#generation, task, attempt }));
  }

  #due(task: number, turnAt: number): void {
    const retryAt = this.#retryAt.get(task);
    if (retryAt === undefined) this.#wrong(`a retry of task ${task} comes due that was never planned`);
    else if (turnAt < retryAt) this.#wrong(`a retry of task ${task} comes due ${retryAt - turnAt} ms early`);
  }

  #wrong(what: string): void {
    this.violations.push(`${this.#id}: ${what}`);
  }
}
