import type { ContextLog } from "../base/context-log.ts";
import type { WhenParentEnds } from "../kernel/node-spec.ts";
import type { RetryPolicy } from "../kernel/retry.ts";
import type { CodeWorkflow } from "./code-workflow.ts";
import type { Job, ParamsArgument } from "./job.ts";
import type { Jsonified } from "./jsonified.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { Workflow } from "./workflow.ts";

/**
 * The context of workflow code. All durable steps go through it: each step is recorded, and when the code is replayed after a
 * crash, it gets the recorded results. So the code itself must be deterministic: it must not read the clock, random numbers
 * or the outside world, and must await only promises of this context.
 */
export interface WorkflowContext {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly workflowVersion: string;
  /** Incremented by each `continueAsNew`. */
  readonly generation: number;
  readonly parentInstanceId: string | undefined;
  /** True if the code is being replayed: the steps it takes now were taken before. */
  readonly isReplaying: boolean;
  /** The reason of a cancel request, if there was one. */
  readonly cancelReason: string | undefined;
  /** A log that writes nothing during replay. */
  readonly log: ContextLog;

  /** Deterministic time in epoch ms: when the event arrived that the code reacts to. */
  now(): number;
  /** A deterministic random number in [0, 1). */
  random(): number;
  /** A deterministic UUID. */
  uuid(): string;

  /** Runs a job on any worker that has it, and returns its output. Throws `StepFailed`. */
  run<Params, Output, Input>(
    job: Job<Params, Output, Input>,
    ...input: ActivityArguments<Input, Jsonified<Awaited<Output>>>
  ): Promise<Jsonified<Awaited<Output>>>;
  run(job: string, input?: unknown, options?: ActivityOptions): Promise<unknown>;
  /**
   * Runs the job once for each item, at most `concurrency` at a time (default 10), and returns the outputs in order. Each run is an
   * activity of its own. Throws the first `StepFailed`; no further item starts after it.
   */
  map<Params, Output, Input>(
    job: Job<Params, Output, Input>,
    items: readonly Input[],
    options?: CodeMapOptions,
  ): Promise<Jsonified<Awaited<Output>>[]>;
  map(job: string, items: readonly unknown[], options?: CodeMapOptions): Promise<unknown[]>;
  /** Another name for `run`. */
  callActivity: WorkflowContext["run"];

  /** Sleeps durably, for a number of ms or until a time: minutes or years. */
  sleep(time: number | Date): Promise<void>;
  /** Another name for `sleep`. */
  createTimer(time: number | Date): Promise<void>;

  /** Returns the next event of that name for this instance, including one that arrived earlier. Throws `StepFailed` after the timeout. */
  waitForEvent<Data = unknown>(name: string, options?: EventOptions<Data>): Promise<Data>;
  /** Raises an event for another instance. */
  sendEvent(instanceId: string, name: string, data?: unknown): void;

  /** Cancels another instance: code runs its compensations, a DAG is terminated. */
  cancelInstance(instanceId: string, reason: string): void;

  /** Runs a child workflow of either kind, and returns its output. Throws `StepFailed`. */
  callChild<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...input: ChildArguments<Input>
  ): Promise<Jsonified<Awaited<Output>>>;
  callChild(workflow: Workflow | string, input?: unknown, options?: ChildOptions): Promise<unknown>;
  /**
   * Starts a child workflow without waiting for its end, and returns its instance id. It keeps running when this instance
   * continues as new; `whenParentEnds` says what happens to it when this instance ends.
   */
  startChild<Params, Output, Input>(
    workflow: CodeWorkflow<Params, Output, Input>,
    ...input: ChildArguments<Input>
  ): string;
  startChild(workflow: Workflow | string, input?: unknown, options?: ChildOptions): string;

  /**
   * Like `Promise.all`, `any` and `race`; the promises settle in the order of history. A wait that loses in `any` or `race` is
   * given up unless something else awaits it: an event is left to the next wait for it, a timer is canceled. Awaiting it again
   * starts the wait again. Activities and children that lose keep running. This applies to promises of the context, and to
   * those derived with `then`, `catch`, `finally` and these three; an async function that loses keeps running.
   */
  all<T extends readonly unknown[] | []>(values: T): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }>;
  any<T extends readonly unknown[] | []>(values: T): Promise<Awaited<T[number]>>;
  any<T>(values: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>>;
  race<T extends readonly unknown[] | []>(values: T): Promise<Awaited<T[number]>>;
  race<T>(values: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>>;

  /**
   * Continues as new: ends this run and starts again with another input, under the same id and with an empty history. Code
   * after it does not run: `return ctx.continueAsNew(next)`. Running activities and children that were called are stopped;
   * children that were started keep running.
   */
  continueAsNew(input?: unknown, options?: { readonly keepEvents?: boolean }): Promise<never>;
  /** Sets a status value that is shown with the instance. */
  setCustomStatus(status: unknown): void;
  /** True if the instance takes the new branch: it first arrives here with this version of the code. */
  patched(name: string): boolean;

  /** Registers a callback for a cancel request; it runs before compensation. */
  onCancel(handler: () => unknown): void;
  /** Registers a compensation. Compensations run in reverse order when the code fails or is canceled, and are awaited. Dropped by `continueAsNew`. */
  undo(handler: () => unknown): void;
  /** Runs a saga: if its code throws, the compensations that it registered run before the error is thrown on. */
  saga<T>(body: (ctx: WorkflowContext) => Promise<T>): Promise<T>;

  /** Registers a query handler, which answers clients from the code's variables. It must not change anything. */
  onQuery(name: string, handler: (input: never) => unknown): void;
  /** Registers an update handler, which may change variables and take steps. The client receives what it returns. */
  onUpdate<Input, Params = Input>(name: string, handler: UpdateHandler<Params> | UpdateOptions<Input, Params>): void;
}

/** Options of one activity. */
export interface ActivityOptions<Output = unknown> {
  /** The name of the step, shown instead of the job's. */
  readonly name?: string;
  /** The timeout of one attempt. Default: an hour. */
  readonly timeoutSeconds?: number;
  /** An attempt whose job sends no heartbeat for so long times out. Default: none is expected. */
  readonly heartbeatTimeoutSeconds?: number;
  /** The maximum of retries after a failed attempt. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
  readonly domain?: string;
  /** Tags that a worker must have to run it, all of them. */
  readonly workerTags?: readonly string[];
  /** The designated worker: its id or its address. */
  readonly worker?: string;
  /** The compensation of the step: runs if the step succeeded and the code fails later or is canceled. */
  readonly undo?: (output: Output) => unknown;
}

/** Options of `ctx.map`: those of each activity, and how many run at a time. */
export interface CodeMapOptions extends Omit<ActivityOptions<never>, "undo"> {
  /** Default 10. */
  readonly concurrency?: number;
}

/** Options of a child workflow. */
export interface ChildOptions {
  /** Action on the child if this instance ends first: `terminate` (default), `cancel`, or `leave`. */
  readonly whenParentEnds?: WhenParentEnds;
  /** The instance id of the child. Default: derived from this instance's id. */
  readonly instanceId?: string;
  /** The maximum of retries after a failed child. Default 0. */
  readonly retryCount?: number;
  readonly retryPolicy?: Partial<RetryPolicy>;
}

/** Options of a wait for an event. */
export interface EventOptions<Data = unknown> {
  readonly timeoutMs?: number;
  /** Validates the data of the event; `INPUT_INVALID` if they do not fit. */
  readonly schema?: StandardSchema<unknown, Data>;
}

/** Answers an update. It may run activities and wait, as the workflow itself. */
export type UpdateHandler<Params> = { run(input: Params): unknown }["run"];

/** An update that a workflow takes: its input, its validation and its handler. */
export interface UpdateOptions<Input, Params> {
  readonly input?: StandardSchema<Input, Params>;
  /** Throws to reject the update before it is recorded. It must not change anything. */
  readonly validate?: { run(input: Params): void }["run"];
  readonly handler: UpdateHandler<Params>;
}

/** The input may be omitted if the job accepts none. */
export type ActivityArguments<Input, Output> = [...ParamsArgument<Input>, options?: ActivityOptions<Output>];
export type ChildArguments<Input> = [...ParamsArgument<Input>, options?: ChildOptions];
