import type { Logger } from "../base/logger.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Task } from "./task.ts";

/** A registered function that does work. `defineJob` makes one; `registerJobFunction` makes and registers one. */
export interface Job<Params = unknown, Output = unknown> {
  readonly name: string;
  readonly fn: JobFunction<Params, Output>;
  readonly input?: StandardSchema<unknown, Params>;
  /** `inline` runs on the engine's event loop; `thread` in a worker thread, which a timeout really kills. */
  readonly isolation: Isolation;
  /** Where a thread finds the function. Known by convention only for exported jobs, so a thread job must say it. */
  readonly source?: JobSource;
  /** The number by which PowerJob's files name the job. */
  readonly jobId?: number;
}

export type JobFunction<Params, Output> = (params: Params, ctx: JobContext) => Output | Promise<Output>;

export type Isolation = "inline" | "thread";

export interface JobSource {
  /** Usually `import.meta.url`. */
  readonly module: string;
  /** The export that holds the job or its function. */
  readonly export: string;
}

/** What a job can see and do while it runs. */
export interface JobContext {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  /** From 1; an attempt that was lost with its process runs again under the same number. */
  readonly attempt: number;
  /** Stable over restarts: use it as an idempotency key. */
  readonly attemptId: string;
  /** Aborts on timeout, terminate and stop. */
  readonly signal: AbortSignal;
  /** The instance's context when the attempt started. A copy: change it with `patchContext`. */
  readonly context: Readonly<Record<string, unknown>>;
  /** Outputs of the tasks this one waited for, by task name; those of their sub-tasks too. */
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly log: Logger;
  /** Adds a task that runs after this one; it joins the instance when this attempt succeeds. */
  generateSubTask(task: Task): void;
  /** Top-level keys overwrite, null removes; merged when this attempt succeeds. */
  patchContext(patch: Readonly<Record<string, unknown>>): void;
}
