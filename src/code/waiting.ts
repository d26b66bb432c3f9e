import { EngineError } from "../base/error.ts";
import { WorkflowCanceled } from "./step-failed.ts";

/** The two ends of a promise that the code waits for. */
export interface Wait<T = unknown> {
  resolve(value: T): void;
  reject(error: unknown): void;
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

  /** The promise counts as handled: code that has stopped looking at it must not end the process when it fails. */
  add<T>(start: (wait: Wait<T>) => void): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const wait: Wait<T> = {
      resolve: (value) => {
        this.#waits.delete(wait);
        resolve(value);
      },
      reject: (error) => {
        this.#waits.delete(wait);
        reject(error);
      },
    };
    this.#waits.add(wait);
    promise.catch(() => undefined);
    start(wait);
    return promise;
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
