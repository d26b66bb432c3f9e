import { EngineError } from "../base/error.ts";
import type { ContextLog } from "../base/context-log.ts";
import { preview } from "../base/preview.ts";
import { SettingCheck } from "./setting-check.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Task } from "./task.ts";

/**
 * A registered function that does work. `defineJob` makes one; `registerJobFunction` makes and registers one.
 * `Params` is what the function receives, `Input` what a task gives: they differ where the schema fills in or converts.
 */
export interface Job<Params = unknown, Output = unknown, Input = Params> {
  readonly name: string;
  readonly fn: JobFunction<Params, Output>;
  readonly input?: StandardSchema<Input, Params>;
  /** `inline` runs on the engine's event loop; `thread` in a worker thread, which a timeout really kills. */
  readonly isolation: Isolation;
  /** Where a thread finds the function. Known by convention only for exported jobs, so a thread job must say it. */
  readonly source?: JobSource;
  /** The number by which PowerJob's files name the job. */
  readonly jobId?: number;
  /** `file#export`: set by whoever loads jobs from modules, for people to find the code. */
  readonly codePath?: string;
}

/** Typed as a method, which is lenient about its parameters: so jobs of all kinds fit into one list without a cast. */
export type JobFunction<Params, Output> = { run(params: Params, ctx: JobContext): Output | Promise<Output> }["run"];

export type Isolation = "inline" | "thread";

export interface JobSource {
  /** Usually `import.meta.url`. */
  readonly module: string;
  /** The export that holds the job or its function. */
  readonly export: string;
}

export interface JobOptions {
  /** Default `inline`. */
  readonly isolation?: Isolation;
  readonly source?: JobSource;
  readonly jobId?: number;
}

export interface JobOptionsWithInput<Input, Params> extends JobOptions {
  /** Checked when a task is built and again before the function is called, which receives what the schema gives. */
  readonly input: StandardSchema<Input, Params>;
}

/** What a job can see and do while it runs. */
export interface JobContext {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  /** The task within its instance: `<instance id>::<number>`, numbered from 0. The same for all its attempts. */
  readonly taskId: string;
  /** From 1; an attempt that was lost with its process runs again under the same number. */
  readonly attempt: number;
  /** Stable over restarts: use it as an idempotency key. */
  readonly attemptId: string;
  /** W3C trace context of whoever started the instance, for calls to others. */
  readonly traceparent: string | undefined;
  /** Aborts on timeout, terminate and stop, of the task or the engine. */
  readonly signal: AbortSignal;
  /** The instance's context when the attempt started. A copy: change it with `patchContext`. */
  readonly context: Readonly<Record<string, unknown>>;
  /** Outputs of the tasks this one waited for, by task name; those of their sub-tasks too. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** `ctx.log.info("text")`, or with fields: `ctx.log.info({ rows }, "text")`. Lines are kept with the task where a server runs it. */
  readonly log: ContextLog;
  /** Adds a task that runs after this one; it joins the instance when this attempt succeeds. */
  generateSubTask(task: Task): void;
  /** Top-level keys overwrite, null removes; merged when this attempt succeeds. */
  patchContext(patch: Readonly<Record<string, unknown>>): void;
  /**
   * Progress of this attempt, shown with the task while it runs: a fraction from 0 to 1, or so many of so many. Not durable;
   * what a job on a remote worker reports is not shown. Throws OPTION_INVALID.
   */
  reportProgress(progress: ProgressReport): void;
}

export type ProgressReport = number | { readonly done: number; readonly total: number; readonly message?: string };

/**
 * Names a function so that tasks can run it. Throws JOB_INVALID.
 *
 * ```ts
 * const extract = defineJob("extract", { input: z.object({ table: z.string() }) }, async ({ table }, ctx) => …);
 * ```
 */
export function defineJob<Params, Output>(name: string, fn: JobFunction<Params, Output>): Job<Params, Output>;
export function defineJob<Input, Params, Output>(
  name: string,
  options: JobOptionsWithInput<Input, Params>,
  fn: JobFunction<Params, Output>,
): Job<Params, Output, Input>;
export function defineJob<Params, Output>(
  name: string,
  // Saying that there is no schema keeps the compiler from trying this one first and forgetting the schema's types.
  options: JobOptions & { readonly input?: never },
  fn: JobFunction<Params, Output>,
): Job<Params, Output>;
export function defineJob<Params, Output>(
  name: string,
  optionsOrFn: JobOptions | JobFunction<Params, Output>,
  maybeFn?: JobFunction<Params, Output>,
): Job<Params, Output> {
  const options = typeof optionsOrFn === "function" ? {} : optionsOrFn;
  const fn = typeof optionsOrFn === "function" ? optionsOrFn : maybeFn;
  checkJobName(name);
  if (typeof fn !== "function") throw invalid(name, `needs a function to run, got ${preview(fn)}`);
  const { isolation = "inline", ...rest } = options ?? {};
  const check = new SettingCheck("JOB_INVALID", `job ${preview(name)}`);
  check.options<JobOptionsWithInput<unknown, unknown>>(
    { ...(options as JobOptionsWithInput<unknown, unknown>) },
    optionNames,
  );
  const job: Job<Params, Output> = { name, fn, isolation, ...rest };
  checkOptions(job);
  return Object.freeze(job);
}

const optionNames = { isolation: true, source: true, jobId: true, input: true } as const;

function checkJobName(name: unknown): void {
  if (typeof name !== "string" || name.trim() === "") {
    throw new EngineError("JOB_INVALID", `a job's name must be text, not blank, got ${preview(name)}`);
  }
  if (name.includes("@")) {
    throw invalid(name, "must not have an @ in its name: it stands between a name and its signature");
  }
}

function checkOptions(job: Job): void {
  const { name, isolation, source, jobId, input } = job;
  if (isolation !== "inline" && isolation !== "thread") {
    throw invalid(name, `isolation must be "inline" or "thread", got ${preview(isolation)}`);
  }
  if (source !== undefined && !isSource(source)) {
    throw invalid(name, `source must be { module, export }, both text and not blank, got ${preview(source)}`);
  }
  if (isolation === "thread" && source === undefined) {
    throw invalid(
      name,
      "runs in a thread, which must import it: export it and give source: { module: import.meta.url, export: … }",
    );
  }
  if (jobId !== undefined && !(Number.isSafeInteger(jobId) && jobId >= 0)) {
    throw invalid(name, `jobId must be a whole number, at least 0, got ${preview(jobId)}`);
  }
  if (input !== undefined && typeof input["~standard"]?.validate !== "function") {
    throw invalid(name, "input must be a Standard Schema, such as zod, Valibot or ArkType make");
  }
}

function isSource(source: JobSource): boolean {
  return [source.module, source.export].every((part) => typeof part === "string" && part !== "");
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("JOB_INVALID", `job ${preview(name)} ${problem}`);
}

/** Params may be left out where the job accepts none. */
export type ParamsArgument<Input> = undefined extends Input ? [params?: Input] : [params: Input];
