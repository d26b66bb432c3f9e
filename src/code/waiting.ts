import { EngineError } from "../base/error.ts";
import { WorkflowCanceled } from "./step-failed.ts";

const ignore = (): void => undefined;

/**
 * A promise that the code waits for. It counts as handled: code that has stopped looking at it must not end the process
 * when it fails.
 */
export class Wait<T = unknown> {
  readonly promise: Promise<T>;
  readonly #all: Set<Wait<never>>;
  readonly #settle: PromiseWithResolvers<T>;

  constructor(all: Set<Wait<never>>) {
    this.#all = all;
    this.#settle = Promise.withResolvers<T>();
    this.promise = this.#settle.promise;
    this.promise.catch(ignore);
    all.add(this as unknown as Wait<never>);
  }

  resolve(value: T): void {
    this.#all.delete(this as unknown as Wait<never>);
    this.#settle.resolve(value);
  }

  reject(error: unknown): void {
    this.#all.delete(this as unknown as Wait<never>);
    this.#settle.reject(error);
  }
}

/**
 * What the code waits for. A wait that is never over is a promise nobody settles: the code stays where it is, and goes
 * with whatever it holds once nobody holds it.
 */
export class Waiting {
  readonly #waits = new Set<Wait<never>>();

  get isEmpty(): boolean {
    return this.#waits.size === 0;
  }

  add<T>(): Wait<T> {
    return new Wait<T>(this.#waits);
  }

  /** None of it will come. */
  cancelAll(reason: string): void {
    for (const wait of this.#waits) wait.reject(new WorkflowCanceled(reason));
  }
}

export function notDurable(what: string): EngineError {
  return new EngineError(
    "WORKFLOW_NOT_DURABLE",
    `${what}; the code of a workflow may wait only for what its ctx gives it: put calls to the outside world into a job and run it with ctx.run()`,
  );
}
