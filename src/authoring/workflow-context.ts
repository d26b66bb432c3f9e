import type { ContextLog } from "../base/context-log.ts";
import type { WhenParentEnds } from "../kernel/node-spec.ts";
import type { RetryPolicy } from "../kernel/retry.ts";
import type { CodeWorkflow } from "./code-workflow.ts";
import type { Job, ParamsArgument } from "./job.ts";
import type { Jsonified } from "./jsonified.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Workflow } from "./workflow.ts";

/**
 * What the code of a workflow sees and does. All that lasts goes through here: each step is written down, and when the
 * code is run again after a crash, it is given what the step gave before. So the code itself must not look at the clock,
 * at chance or at the outside world, and must wait for nothing but what it got from here.
 */
export interface WorkflowContext {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly workflowVersion: string;
  /** Counts up with each `continueAsNew`. */
  readonly generation: number;
  readonly parentInstanceId: string | undefined;
  /** The code is being brought back to where it was: what it does now was done before. */
  readonly isReplaying: boolean;
  /** Why it was asked to end, once it was. */
  readonly cancelReason: string | undefined;
  /** Silent while replaying. */
  readonly log: ContextLog;

  /** Epoch ms, the same in every replay: when what the code reacts to came in. */
  now(): number;
  /** In [0, 1), the same in every replay. */
  random(): number;
  /** The same in every replay. */
  uuid(): string;

  /** Runs a job, wherever there is a worker for it, and gives back its output. Throws `StepFailed`. */
  run<Params, Output, Input>(
    job: Job<Params, Output, Input>,
    ...input: ActivityArguments<Input, Jsonified<Awaited<Output>>>
  ): Promise<Jsonified<Awaited<Output>>>;
  run(job: string, input?: unknown, options?: ActivityOptions): Promise<unknown>;
  /** Another name for `run`. */
  callActivity: WorkflowContext["run"];

  /** For so many ms, or until that time: minutes or years. */
  sleep(time: number | Date): Promise<void>;
  /** Another name for `sleep`. */
  createTimer(time: number | Date): Promise<void>;

  /** The next event of that name that was raised for this instance, also one that came before. `StepFailed` after the timeout. */
  waitForEvent<Data = unknown>(name: string, options?: EventOptions<Data>): Promise<Data>;
  /** Raises an event for another instance. */
  sendEvent(instanceId: string, name: string, data?: unknown): void;

  /** Asks another instance to end: code undoes what it did, a DAG is terminated. */
  cancelInstance(instanceId: string, reason: string): void;

  /** Another workflow, of either kind: waits for its end and gives back its output. Throws `StepFailed`. */
  callChild<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...input: ChildArguments<Input>
  ): Promise<Jsonified<Awaited<Output>>>;
  callChild(workflow: Workflow | string, input?: unknown, options?: ChildOptions): Promise<unknown>;
  /**
   * Starts another workflow and does not wait for it. Gives back its instance id. It goes on when this one begins anew, and
   * when this one ends, `whenParentEnds` says what becomes of it.
   */
  startChild<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...input: ChildArguments<Input>
  ): string;
  startChild(workflow: Workflow | string, input?: unknown, options?: ChildOptions): string;

  /**
   * As `Promise.all`, `any` and `race`: what is waited for settles in the order of history. What loses in `any` and `race` is
   * given up, unless something else waits for it: an event is left to whoever waits for it next, a timer is canceled. Awaited
   * again, or in another race, it is waited for again. Activities and children that lose run on. This holds for what the
   * context gave, and for what was made of it with `then`, `catch`, `finally` and these three; an async function that loses
   * goes on.
   */
  all<T extends readonly unknown[] | []>(values: T): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }>;
  any<T extends readonly unknown[] | []>(values: T): Promise<Awaited<T[number]>>;
  any<T>(values: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>>;
  race<T extends readonly unknown[] | []>(values: T): Promise<Awaited<T[number]>>;
  race<T>(values: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>>;

  /**
   * Ends this run and begins anew with another input, under the same id and with an empty history. Nothing after it is
   * carried out: `return ctx.continueAsNew(next)`. Activities and children that were called and have not ended are stopped;
   * children that were started go on.
   */
  continueAsNew(input?: unknown, options?: { readonly keepEvents?: boolean }): Promise<never>;
  /** Shown to whoever looks at the instance. */
  setCustomStatus(status: unknown): void;
  /** True for instances that come here for the first time with this code: they take the newer way. */
  patched(name: string): boolean;

  /** Called when the instance is asked to end, before what it did is undone. */
  onCancel(handler: () => unknown): void;
  /** Called, last one first, when the code fails or is asked to end. What it gives back is waited for. Dropped by `continueAsNew`. */
  undo(handler: () => unknown): void;
  /** A stretch of code with its own undoing: if it throws, what its steps registered is undone, and then it throws. */
  saga<T>(body: (ctx: WorkflowContext) => Promise<T>): Promise<T>;

  /** Answers clients from the code's variables. Must change nothing. */
  onQuery(name: string, handler: (input: never) => unknown): void;
  /** A call from a client that may change things, take steps, and is answered with what it gives back. */
  onUpdate<Input, Params = Input>(name: string, handler: UpdateHandler<Params> | UpdateOptions<Input, Params>): void;
}

export interface ActivityOptions<Output = unknown> {
  /** Shown instead of the job's name. */
  readonly name?: string;
  /** How long one attempt may take. Default an hour. */
  readonly timeoutSeconds?: number;
  /** How often a failed attempt is repeated. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
  readonly domain?: string;
  /** How to undo the step, once it has succeeded, if the code fails later on or is asked to end. */
  readonly undo?: (output: Output) => unknown;
}

export interface ChildOptions {
  /** What becomes of it if this instance ends first: `terminate` (the default), `cancel`, which asks it to end, or `leave`. */
  readonly whenParentEnds?: WhenParentEnds;
  /** Default: made of this instance's id. */
  readonly instanceId?: string;
  /** How often a failed child is run again. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
}

export interface EventOptions<Data = unknown> {
  readonly timeoutMs?: number;
  /** `INPUT_INVALID` for data that do not fit. */
  readonly schema?: StandardSchema<unknown, Data>;
}

export type UpdateHandler<Params> = { run(input: Params): unknown }["run"];

export interface UpdateOptions<Input, Params> {
  readonly input?: StandardSchema<Input, Params>;
  /** Throws if the update is not to be let in; nothing is written then. Must change nothing. */
  readonly validate?: { run(input: Params): void }["run"];
  readonly handler: UpdateHandler<Params>;
}

/** The input may be left out where the job accepts none. */
export type ActivityArguments<Input, Output> = [...ParamsArgument<Input>, options?: ActivityOptions<Output>];
export type ChildArguments<Input> = [...ParamsArgument<Input>, options?: ChildOptions];
