import { EngineError } from "../base/error.ts";
import type { Step } from "../kernel/code/step.ts";
import { handled } from "./context-promise.ts";
import { WorkflowCanceled } from "./step-failed.ts";

export type TaskStep = Extract<Step, { type: "activity" | "child" }>;

/** A promise that the code waits for. Those of one run are a chain: most have one, and a set would be larger than it. */
export class Wait<T = unknown> {
  readonly promise: Promise<T>;
  /** What it is that the code waits for, if it is a task. */
  readonly task: TaskStep | undefined;
  before: Wait<never> | undefined;
  after: Wait<never> | undefined;
  readonly #waiting: Waiting;
  readonly #settle: PromiseWithResolvers<T>;
  isSettled = false;

  constructor(waiting: Waiting, task: TaskStep | undefined) {
    this.task = task;
    this.#waiting = waiting;
    this.#settle = Promise.withResolvers<T>();
    this.promise = this.#settle.promise;
  }

  resolve(value: T): void {
    this.#end();
    this.#settle.resolve(value);
  }

  /** It counts as handled: code that has stopped looking at it must not end the process when it fails. */
  reject(error: unknown): void {
    this.#end();
    void handled(this.promise);
    this.#settle.reject(error);
  }

  #end(): void {
    this.isSettled = true;
    this.suspend();
  }

  /** Nobody wants it at present. */
  suspend(): void {
    this.#waiting.remove(this as unknown as Wait<never>);
  }

  resume(): void {
    this.#waiting.append(this as unknown as Wait<never>);
  }
}

/**
 * What the code waits for. A wait that is never over is a promise nobody settles: the code stays where it is, and goes
 * with whatever it holds once nobody holds it.
 */
export class Waiting {
  #first: Wait<never> | undefined;
  #last: Wait<never> | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add<T>(task?: TaskStep): Wait<T> {
    const wait = new Wait<T>(this, task);
    this.append(wait as unknown as Wait<never>);
    return wait;
  }

  append(wait: Wait<never>): void {
    wait.before = this.#last;
    if (this.#last === undefined) this.#first = wait;
    else this.#last.after = wait;
    this.#last = wait;
  }

  /** Settled twice, it is not there the second time. */
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

  /** None of it will come; the first that was waited for hears of it first. */
  cancelAll(reason: string): void {
    while (this.#first !== undefined) this.#first.reject(new WorkflowCanceled(reason));
  }
}

export function notDurable(what: string): EngineError {
  return new EngineError(
    "WORKFLOW_NOT_DURABLE",
    `${what}; the code of a workflow may wait only for what its ctx gives it: put calls to the outside world into a job and run it with ctx.run()`,
  );
}
