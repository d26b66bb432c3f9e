import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { durationSecondsMax } from "../base/time-limits.ts";
import type { OverflowPolicy } from "../kernel/dag/dag-spec.ts";
import { SettingCheck } from "./setting-check.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { WorkflowContext } from "./workflow-context.ts";

/**
 * A workflow that is an async function; created by `defineWorkflow`. `Input` is the type that callers pass, `Params` the type
 * that the function receives; they differ if the schema adds defaults or converts.
 */
export interface CodeWorkflow<Params = unknown, Output = unknown, Input = Params> {
  readonly name: string;
  /** An instance keeps the version that it was started with. */
  readonly version: string;
  readonly fn: WorkflowFunction<Params, Output>;
  readonly input?: StandardSchema<Input, Params>;
  readonly output?: StandardSchema<Awaited<Output>, unknown>;
  /** The timeout of an instance. After that its compensations run, and it ends as failed. */
  readonly timeoutSeconds?: number;
  readonly maxConcurrentActivities?: number;
  readonly maxInstances?: CodeMaxInstances;
}

/** The maximum of running instances. A start above it waits (`queue`, the default), ends in Terminated (`skip`) or in Failed (`fail`). */
export interface CodeMaxInstances {
  readonly max: number;
  readonly policy?: OverflowPolicy;
}

/** Declared as a method, whose parameters are bivariant, so that workflows of all types fit into one array without a cast. */
export type WorkflowFunction<Params, Output> = { run(ctx: WorkflowContext, input: Params): Output }["run"];

/** Options of a code workflow without a schema of its input. */
export interface WorkflowOptions {
  /** Default "1". Change it with the code, and keep the code of versions that still run; or branch with `ctx.patched`. */
  readonly version?: string;
  readonly timeoutSeconds?: number;
  /** The maximum of running activities of one instance. Default: the engine's `maxConcurrentActivities`; 0 for no limit. */
  readonly maxConcurrentActivities?: number;
  /** The maximum of running instances of the workflow in the whole cluster. Default: no limit. */
  readonly maxInstances?: CodeMaxInstances;
}

/** Options of a code workflow with a schema of its input. */
export interface WorkflowOptionsWithInput<Input, Params> extends WorkflowOptions {
  readonly input: StandardSchema<Input, Params>;
}

/**
 * Defines a durable workflow as an async function. Throws WORKFLOW_INVALID.
 *
 * ```ts
 * const order = defineWorkflow("order", { input: z.object({ id: z.string() }) }, async (ctx, { id }) => {
 *   const receipt = await ctx.run(charge, { id });
 *   await ctx.sleep(24 * 3600 * 1000);
 *   await ctx.run(askForReview, { id });
 *   return receipt;
 * });
 * ```
 */
export function defineWorkflow<Params, Output>(
  name: string,
  fn: WorkflowFunction<Params, Promise<Output>>,
): CodeWorkflow<Params, Promise<Output>>;
export function defineWorkflow<Input, Params, Output>(
  name: string,
  options: WorkflowOptionsWithInput<Input, Params> & { readonly output?: StandardSchema<Output, unknown> },
  fn: WorkflowFunction<Params, Promise<Output>>,
): CodeWorkflow<Params, Promise<Output>, Input>;
export function defineWorkflow<Params, Output>(
  name: string,
  // `input?: never` keeps the compiler from choosing this overload first and losing the types of the schema.
  options: WorkflowOptions & { readonly input?: never; readonly output?: StandardSchema<Output, unknown> },
  fn: WorkflowFunction<Params, Promise<Output>>,
): CodeWorkflow<Params, Promise<Output>>;
export function defineWorkflow<Params, Output>(
  name: string,
  optionsOrFn: WorkflowOptions | WorkflowFunction<Params, Promise<Output>>,
  maybeFn?: WorkflowFunction<Params, Promise<Output>>,
): CodeWorkflow<Params, Promise<Output>> {
  const options = typeof optionsOrFn === "function" ? {} : optionsOrFn;
  const fn = typeof optionsOrFn === "function" ? optionsOrFn : maybeFn;
  if (typeof name !== "string" || name.trim() === "") {
    throw new EngineError("WORKFLOW_INVALID", `a workflow's name must be text, not blank, got ${preview(name)}`);
  }
  if (typeof fn !== "function") throw invalid(name, `needs a function to run, got ${preview(fn)}`);
  new SettingCheck("WORKFLOW_INVALID", `workflow ${preview(name)}`).options<AllOptions>({ ...options }, optionNames);
  const workflow = { version: "1", ...options, name, fn };
  checkOptions(workflow);
  return Object.freeze(workflow);
}

type AllOptions = Partial<WorkflowOptionsWithInput<unknown, unknown>> & Pick<CodeWorkflow, "output">;

const optionNames = {
  version: true,
  timeoutSeconds: true,
  maxConcurrentActivities: true,
  maxInstances: true,
  input: true,
  output: true,
} as const;

export function isCodeWorkflow(value: unknown): value is CodeWorkflow {
  return typeof value === "object" && value !== null && "fn" in value && "version" in value && "name" in value;
}

function checkMaxInstances(name: string, maxInstances: CodeMaxInstances): void {
  const isObject = typeof maxInstances === "object" && maxInstances !== null;
  const { max, policy = "queue", ...others } = isObject ? maxInstances : { max: 0 };
  const isSound = isCount(max, 1) && ["queue", "skip", "fail"].includes(policy) && Object.keys(others).length === 0;
  if (isSound) return;
  throw invalid(
    name,
    `maxInstances must be { max, policy }, max a whole number, at least 1, and policy "queue", "skip" or "fail", got ${preview(maxInstances)}`,
  );
}

function isCount(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min;
}

function checkOptions(workflow: CodeWorkflow): void {
  const { name, version, timeoutSeconds, input, output, maxConcurrentActivities, maxInstances } = workflow;
  if (typeof version !== "string" || version.trim() === "") {
    throw invalid(name, `must have a version that is text, not blank, got ${preview(version)}`);
  }
  if (timeoutSeconds !== undefined && !(timeoutSeconds > 0 && timeoutSeconds <= durationSecondsMax)) {
    const expected = `a number of seconds above 0, at most ${durationSecondsMax}`;
    throw invalid(name, `timeoutSeconds must be ${expected}, got ${preview(timeoutSeconds)}`);
  }
  if (maxConcurrentActivities !== undefined && !isCount(maxConcurrentActivities, 0)) {
    const given = preview(maxConcurrentActivities);
    throw invalid(name, `maxConcurrentActivities must be a whole number, at least 0, got ${given}`);
  }
  if (maxInstances !== undefined) checkMaxInstances(name, maxInstances);
  for (const [what, schema] of Object.entries({ input, output })) {
    if (schema !== undefined && typeof schema["~standard"]?.validate !== "function") {
      throw invalid(name, `${what} must be a Standard Schema, such as zod, Valibot or ArkType make`);
    }
  }
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("WORKFLOW_INVALID", `workflow ${preview(name)} ${problem}`);
}
