import { EngineError } from "../base/error.ts";
import { shown } from "../base/shown.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { WorkflowContext } from "./workflow-context.ts";

/**
 * A workflow that is an async function. `defineWorkflow` makes one. `Params` is what the function receives, `Input` what
 * a caller gives: they differ where the schema fills in or converts.
 */
export interface CodeWorkflow<Params = unknown, Output = unknown, Input = Params> {
  readonly name: string;
  /** An instance keeps the version that it was started with. */
  readonly version: string;
  readonly fn: WorkflowFunction<Params, Output>;
  readonly input?: StandardSchema<Input, Params>;
  readonly output?: StandardSchema<Awaited<Output>, unknown>;
  /** How long an instance may take from its start to its end. */
  readonly timeoutSeconds?: number;
}

/** Typed as a method, which is lenient about its parameters: so workflows of all kinds fit into one list without a cast. */
export type WorkflowFunction<Params, Output> = { run(ctx: WorkflowContext, input: Params): Output }["run"];

export interface WorkflowOptions {
  /** Default "1". Change it with the code, and keep the code of versions that still run; or branch with `ctx.patched`. */
  readonly version?: string;
  readonly timeoutSeconds?: number;
}

export interface WorkflowOptionsWithInput<Input, Params> extends WorkflowOptions {
  readonly input: StandardSchema<Input, Params>;
}

/**
 * Names an async function that survives crashes. Throws WORKFLOW_INVALID.
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
  // Saying that there is no schema keeps the compiler from trying this one first and forgetting the schema's types.
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
    throw new EngineError("WORKFLOW_INVALID", `a workflow's name must be text, not blank, got ${shown(name)}`);
  }
  if (typeof fn !== "function") throw invalid(name, `needs a function to run, got ${shown(fn)}`);
  const workflow = { version: "1", ...options, name, fn };
  checkOptions(workflow);
  return Object.freeze(workflow);
}

export function isCodeWorkflow(value: unknown): value is CodeWorkflow {
  return typeof value === "object" && value !== null && "fn" in value && "version" in value && "name" in value;
}

function checkOptions({ name, version, timeoutSeconds, input, output }: CodeWorkflow): void {
  if (typeof version !== "string" || version.trim() === "") {
    throw invalid(name, `must have a version that is text, not blank, got ${shown(version)}`);
  }
  if (timeoutSeconds !== undefined && !(Number.isFinite(timeoutSeconds) && timeoutSeconds > 0)) {
    throw invalid(name, `timeoutSeconds must be a number above 0, got ${shown(timeoutSeconds)}`);
  }
  for (const [what, schema] of Object.entries({ input, output })) {
    if (schema !== undefined && typeof schema["~standard"]?.validate !== "function") {
      throw invalid(name, `${what} must be a Standard Schema, such as zod, Valibot or ArkType make`);
    }
  }
}

function invalid(name: string, problem: string): EngineError {
  return new EngineError("WORKFLOW_INVALID", `workflow ${shown(name)} ${problem}`);
}
