import { EngineError } from "../base/error.ts";
import type { Step } from "../kernel/code/step.ts";
import { type CallPlace, lineOf } from "./call-place.ts";
import { markHandled } from "./context-promise.ts";
import { WorkflowCanceled } from "./step-failed.ts";

export type TaskStep = Extract<Step, { type: "activity" | "child" }>;

/** A wait for an event or a timer, which knows what it waits for. */
export interface Described {
  describe(): Exclude<PendingWait, { kind: "task" }>;
}

/** Something that the code waits for, as far as its run knows it. */
export type PendingWait = { readonly line: CodeLine | undefined } & (
  | { readonly kind: "task"; readonly task: number; readonly since?: undefined }
  | { readonly kind: "timer"; readonly dueAt: number; readonly since: number }
  | { readonly kind: "event"; readonly name: string; readonly dueAt: number | undefined; readonly since: number }
);

type CodeLine = NonNullable<ReturnType<typeof lineOf>>;

/** A promise that the code waits for. Those of one run are a chain: most have one, and a set would be larger than it. */
export class Wait<T = unknown> {
  readonly promise: Promise<T>;
  /** Waits of the code. */
  readonly of: TaskStep | Described | undefined;
  readonly place: CallPlace | undefined;
  before: Wait<never> | undefined;
  after: Wait<never> | undefined;
  readonly #waiting: Waiting;
  readonly #settle: PromiseWithResolvers<T>;
  isSettled = false;

  constructor(waiting: Waiting, of?: TaskStep | Described, place?: CallPlace) {
    this.of = of;
    this.place = place;
    this.#waiting = waiting;
    this.#settle = Promise.withResolvers<T>();
    this.promise = this.#settle.promise;
  }

  resolve(value: T): void {
    this.#end();
    this.#settle.resolve(value);
  }

  /** Rejects the promise, and marks it as handled: code that does not await it any more must not end the process. */
  reject(error: unknown): void {
    this.#end();
    void markHandled(this.promise);
    this.#settle.reject(error);
  }

  #end(): void {
    this.isSettled = true;
    this.suspend();
  }

  /** Removes it from the waits of the run until it is resumed. */
  suspend(): void {
    this.#waiting.remove(this as unknown as Wait<never>);
  }

  resume(): void {
    this.#waiting.append(this as unknown as Wait<never>);
  }
}

/**
 * The waits of one run: promises of tasks, timers and events. A wait that never ends is a promise nobody settles: the code
 * stays suspended on it, and is garbage-collected with the run.
 */
export class Waiting {
  #first: Wait<never> | undefined;
  #last: Wait<never> | undefined;
  /** Waits by task number. A list is smaller than a map, and most code has few of them. */
  #tasks: (Wait | undefined)[] | undefined;
  /** Timers by number. Created on first use: most instances have none. */
  #timers: Map<number, () => void> | undefined;
  /** True once somebody has looked: from then on the lines of tasks are noted, which costs too much for all of them. */
  isObserved = false;
  /** Number of the next task. */
  nextTask = 0;
  #nextTimer = 0;

  /** Number of tasks and timers that the code has asked for. */
  get stepCount(): number {
    return this.nextTask + this.#nextTimer;
  }

  addTask<T>(step: TaskStep, place?: CallPlace): Promise<T> {
    const wait = this.add<T>(step, place);
    const task = this.nextTask++;
    if (this.#tasks === undefined && task === 0) this.#tasks = [wait as Wait];
    else (this.#tasks ??= [])[task] = wait as Wait;
    return wait.promise;
  }

  /** Counts a task that the code does not wait for. */
  skipTask(): void {
    this.nextTask++;
  }

  /** Removes and returns the wait for a task; undefined if the code waits for it no more. */
  takeTask(task: number): Wait | undefined {
    const tasks = this.#tasks;
    const wait = tasks?.[task];
    if (tasks !== undefined && wait !== undefined) tasks[task] = undefined;
    return wait;
  }

  /** Returns the number of the timer. */
  addTimer(onDue: () => void): number {
    const timer = this.#nextTimer++;
    (this.#timers ??= new Map()).set(timer, onDue);
    return timer;
  }

  fireTimer(timer: number): void {
    const onDue = this.#timers?.get(timer);
    this.#timers?.delete(timer);
    onDue?.();
  }

  /** False if it has fired or was canceled before. */
  cancelTimer(timer: number): boolean {
    return this.#timers?.delete(timer) ?? false;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add<T>(of?: TaskStep | Described, place?: CallPlace): Wait<T> {
    const wait = new Wait<T>(this, of, place);
    this.append(wait as unknown as Wait<never>);
    return wait;
  }

  append(wait: Wait<never>): void {
    wait.before = this.#last;
    if (this.#last === undefined) this.#first = wait;
    else this.#last.after = wait;
    this.#last = wait;
  }

  /** Idempotent: a wait that is not in the chain is ignored. */
  remove(wait: Wait<never>): void {
    const { before, after } = wait;
    if (before === undefined && this.#first !== wait) return;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    wait.before = undefined;
    wait.after = undefined;
  }

  /** Lists what the code waits for: events and timers in the order the code did, then tasks by number. */
  list(): PendingWait[] {
    this.isObserved = true;
    const waits: PendingWait[] = [];
    for (let wait = this.#first; wait !== undefined; wait = wait.after)
      if (wait.of !== undefined && "describe" in wait.of) waits.push(wait.of.describe());
    for (const [task, wait] of (this.#tasks ?? []).entries())
      if (wait !== undefined) waits.push({ kind: "task", task, line: wait.place && lineOf(wait.place) });
    return waits;
  }

  /** Rejects every wait, the earliest first. */
  cancelAll(reason: string): void {
    this.#tasks = undefined;
    this.#timers = undefined;
    while (this.#first !== undefined) this.#first.reject(new WorkflowCanceled(reason));
  }
}

export function notDurable(what: string): EngineError {
  return new EngineError(
    "WORKFLOW_NOT_DURABLE",
    `${what}; the code of a workflow may wait only for what its ctx gives it: put calls to the outside world into a job and run it with ctx.run()`,
  );
}
