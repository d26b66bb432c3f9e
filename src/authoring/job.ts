import { EngineError } from "../base/error.ts";
import type { ContextLog } from "../base/context-log.ts";
import { preview } from "../base/preview.ts";
import type { Failure } from "../kernel/failure.ts";
import { SettingCheck } from "./setting-check.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Task } from "./task.ts";

/**
 * A registered function that does work; created by `defineJob`, or created and registered by `registerJobFunction`.
 * `Input` is the type that tasks pass, `Params` the type that the function receives; they differ if the schema adds defaults
 * or converts.
 */
export interface Job<Params = unknown, Output = unknown, Input = Params> {
  readonly name: string;
  readonly fn: JobFunction<Params, Output>;
  readonly input?: StandardSchema<Input, Params>;
  /**
   * `inline` runs on the engine's event loop; `thread` in a worker thread, which is terminated on timeout; `process` in a child
   * process of its own, which is killed on timeout with all that it has started.
   */
  readonly isolation: Isolation;
  /** The module and export from which a thread or process imports the function. Required for jobs that run in one. */
  readonly source?: JobSource;
  /** The maximum of memory that the process of one attempt may use, with all that it has started. */
  readonly memoryLimitMb?: number;
  /** The number that refers to the job in PowerJob's files. */
  readonly jobId?: number;
  /** One or two sentences for people who use the job. */
  readonly description?: string;
  /** `file#export`: set by loaders of job modules, so that people find the code. */
  readonly codePath?: string;
}

/** Declared as a method, whose parameters are bivariant, so that jobs of all types fit into one array without a cast. */
export type JobFunction<Params, Output> = { run(params: Params, ctx: JobContext): Output | Promise<Output> }["run"];

/** Where a job runs: on the event loop of the engine, in a thread, or in a child process. */
export type Isolation = "inline" | "thread" | "process";

/** Where a thread or a child process finds the job. */
export interface JobSource {
  /** Usually `import.meta.url`. */
  readonly module: string;
  /** The name of the export: the job or its function. */
  readonly export: string;
}

/** Options of a job without a schema of its input. */
export interface JobOptions {
  /** Default `inline`. */
  readonly isolation?: Isolation;
  readonly source?: JobSource;
  /**
   * The maximum of memory of one attempt's process and all that it has started, in MB, at least 64; for isolation `process`.
   * What all of them use together is measured on Linux; the JavaScript heap of the process is limited everywhere.
   */
  readonly memoryLimitMb?: number;
  readonly jobId?: number;
  /** One or two sentences for people who use the job, shown in lists. */
  readonly description?: string;
}

/** Options of a job with a schema of its input. */
export interface JobOptionsWithInput<Input, Params> extends JobOptions {
  /** Validates the parameters when a task is built, and again before the function is called with the schema's output. */
  readonly input: StandardSchema<Input, Params>;
}

/** The context of a running job. */
export interface JobContext {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  /** The id of the task: `<instance id>::<number>`, numbered from 0. The same for all its attempts. */
  readonly taskId: string;
  /** The number of the attempt, from 1. An attempt that was lost with its process runs again under the same number. */
  readonly attempt: number;
  /** Stable over restarts: use it as an idempotency key. */
  readonly attemptId: string;
  /** The W3C trace context of the caller that started the instance, to be passed on in requests. */
  readonly traceparent: string | undefined;
  /** Aborted on timeout, when the task or instance is terminated, and when the engine stops. */
  readonly signal: AbortSignal;
  /** The instance's context when the attempt started. A copy: change it with `patchContext`. */
  readonly context: Readonly<Record<string, unknown>>;
  /** Outputs of the task's dependencies and of their sub-tasks, by task name. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** The item of a map that this attempt is about; undefined for any other task. */
  readonly item: unknown;
  /** The place of the item in the list, from 0; undefined for any other task. */
  readonly index: number | undefined;
  /**
   * Reads the results of the items, in order and a page at a time: for a job that reduces a map, or runs after a broadcast.
   * Items that failed are among them. Throws TASK_INVALID in any other job.
   */
  results(): AsyncIterable<MapResult>;
  /**
   * Hands in items for the map that this job is the source of, or an item of; they run while it goes on. Resolves when the
   * items are durable: they then outlive this attempt, and another attempt that makes the same calls does not add them
   * again: an item is known by the number of the call and its place in it. Items of a long or asynchronous list are sent in
   * parts. Throws TASK_INVALID in any other job, and MAP_ITEMS_INVALID; rejects once the map starts no further item.
   */
  map(items: Iterable<unknown> | AsyncIterable<unknown>): Promise<void>;
  /** `ctx.log.info("text")`, or with fields: `ctx.log.info({ rows }, "text")`. Lines are kept with the task where a server runs it. */
  readonly log: ContextLog;
  /** Adds a task that runs after this one. It is added to the instance when this attempt succeeds. */
  generateSubTask(task: Task): void;
  /** Patches the instance's context when this attempt succeeds: top-level keys are replaced, null removes a key. */
  patchContext(patch: Readonly<Record<string, unknown>>): void;
  /**
   * Lets the task wait, after the job has returned, until somebody completes or fails it with the token that this gives:
   * `engine.completeTask(token, output)`, or `POST /api/task/{token}/complete`. What the job returns does not count. The
   * wait holds no slot and survives every restart. Throws OPTION_INVALID, and TASK_INVALID where the task is part of no
   * workflow.
   */
  completeLater(options?: CompleteLaterOptions): string;
  /**
   * Reports the progress of this attempt, shown with the task while it runs: a fraction from 0 to 1, or `done` of `total`, and a
   * message. Not durable. Throws OPTION_INVALID.
   */
  progress(report: ProgressReport, message?: string): void;
  /**
   * Tells that the job is alive: a task with a heartbeat timeout times out if none comes for so long. The details, any JSON
   * value of at most 4096 bytes, are what a later run of the task finds as `heartbeatDetails` if this one fails, times out or
   * is lost; a heartbeat without details keeps the last ones. Throws OPTION_INVALID, VALUE_NOT_SERIALIZABLE.
   */
  heartbeat(details?: unknown): void;
  /** The details of the last heartbeat that an earlier run of this task has left; undefined if there are none. */
  readonly heartbeatDetails: unknown;
}

/** How one item of a map ended, or the job on one worker of a broadcast. */
export interface MapResult {
  /** Its place in the list, from 0. */
  readonly index: number;
  /** The item; of a broadcast, the address of the worker. */
  readonly item: unknown;
  readonly status: string;
  readonly output: unknown;
  /** The failure of its last attempt, if it failed. */
  readonly failure: Failure | undefined;
}

/** Options of `ctx.completeLater`. */
export interface CompleteLaterOptions {
  /** How long the task waits, from the job's return. Default: what is left of the task's own timeout. */
  readonly timeoutSeconds?: number;
}

/** Progress of an attempt: a share from 0 to 1, or how much of a total is done. */
export type ProgressReport = number | { readonly done: number; readonly total: number; readonly message?: string };

/**
 * Defines a job: a named function that tasks can run. Throws JOB_INVALID.
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
  // `input?: never` keeps the compiler from choosing this overload first and losing the types of the schema.
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

/** True for what `defineJob` gave, and for a code workflow. */
export function isJob(value: unknown): value is Job {
  return (
    typeof value === "object" && value !== null && "name" in value && "fn" in value && typeof value.fn === "function"
  );
}

/** Returns why a value of the option `jobs` is no job; undefined for what `defineJob` gave. A code workflow differs by its version alone. */
export function findJobProblem(value: unknown): string | undefined {
  if (!isJob(value)) return `must hold what defineJob gave, got ${preview(value)}`;
  return "version" in value ? `must hold jobs; "${value.name}" is a workflow: give it in workflows` : undefined;
}

const optionNames = {
  isolation: true,
  source: true,
  memoryLimitMb: true,
  jobId: true,
  input: true,
  description: true,
} as const;

const isolations: readonly unknown[] = ["inline", "thread", "process"] satisfies Isolation[];

function checkJobName(name: unknown): void {
  if (typeof name !== "string" || name.trim() === "") {
    throw new EngineError("JOB_INVALID", `a job's name must be text, not blank, got ${preview(name)}`);
  }
  if (name.includes("@")) {
    throw invalid(name, "must not have an @ in its name: it stands between a name and its signature");
  }
}

function checkOptions(job: Job): void {
  const { name, isolation, source, jobId, input, description } = job;
  if (description !== undefined && (typeof description !== "string" || description.length > 10_000)) {
    throw invalid(name, `description must be text of at most 10,000 characters, got ${preview(description)}`);
  }
  if (!isolations.includes(isolation)) {
    throw invalid(name, `isolation must be "inline", "thread" or "process", got ${preview(isolation)}`);
  }
  if (source !== undefined && !isSource(source)) {
    throw invalid(name, `source must be { module, export }, both text and not blank, got ${preview(source)}`);
  }
  if (isolation !== "inline" && source === undefined) {
    const problem = `runs in a ${isolation}, which must import it`;
    throw invalid(name, `${problem}: export it and give source: { module: import.meta.url, export: … }`);
  }
  checkMemoryLimit(job);
  if (jobId !== undefined && !(Number.isSafeInteger(jobId) && jobId >= 0)) {
    throw invalid(name, `jobId must be a whole number, at least 0, got ${preview(jobId)}`);
  }
  if (input !== undefined && typeof input["~standard"]?.validate !== "function") {
    throw invalid(name, "input must be a Standard Schema, such as zod, Valibot or ArkType make");
  }
}

function checkMemoryLimit({ name, isolation, memoryLimitMb }: Job): void {
  if (memoryLimitMb === undefined) return;
  if (isolation !== "process") throw invalid(name, `has a memoryLimitMb, which needs isolation "process"`);
  if (Number.isSafeInteger(memoryLimitMb) && memoryLimitMb >= memoryLimitMbMin) return;
  const problem = `memoryLimitMb must be a whole number, at least ${memoryLimitMbMin}, got ${preview(memoryLimitMb)}`;
  throw invalid(name, problem);
}

/** A process of Node.js that does nothing takes about as much. */
const memoryLimitMbMin = 64;

function isSource(source: JobSource): boolean {
  return [source.module, source.export].every((part) => typeof part === "string" && part !== "");
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("JOB_INVALID", `job ${preview(name)} ${problem}`);
}

/** Params may be omitted if the job accepts none. */
export type ParamsArgument<Input> = undefined extends Input ? [params?: Input] : [params: Input];
