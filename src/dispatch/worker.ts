import type { TaskRun } from "./task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "./abort.ts";

/** Runs attempts, one call each. Slots, timeouts and order are the dispatcher's. */
export interface Worker {
  /** Who ran it, as history tells it. */
  readonly address: string;
  hasJob(id: string): boolean;
  /**
   * Whatever goes wrong in the job is an outcome. A job that ends at once is answered at once, without a promise.
   * After an abort the answer is not used, but it should come soon.
   */
  execute(run: TaskRun, abort: Abort): Outcome | Promise<Outcome>;
  /** Gives back what it holds: threads are ended, whatever they do. */
  stop(): Promise<void>;
}
