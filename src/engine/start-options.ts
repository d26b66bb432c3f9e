import type { Reuse } from "../runtime/instance-starter.ts";
import type { JobTaskOptions } from "./job-workflow.ts";

/** Options of `submitWorkflow`. */
export interface SubmitOptions {
  /** Default: a new UUID. The id of an active instance is refused with `INSTANCE_EXISTS`. */
  readonly instanceId?: string;
  /** Allows the id of an instance that has ended. Default false. */
  readonly reuse?: boolean;
  /** Merged into the workflow's context; a value that is not an object becomes `{ initParams: value }`. */
  readonly params?: unknown;
  /** Limit of concurrent tasks; takes precedence over the context's `maxConcurrentTasks`, the definition's and the engine's. */
  readonly maxConcurrentTasks?: number;
  /** W3C trace context: the instance becomes part of that trace. */
  readonly traceparent?: string;
  /** The application that the instance belongs to; its children inherit it. Default: the engine's option `app`. */
  readonly app?: string;
}

/** The options of a start without any, which need no check. */
export const noOptions: SubmitOptions & StartOptions = Object.freeze({});

/** Options of `runJob`. */
export interface RunJobOptions extends JobTaskOptions {
  /** Default: a new UUID. The id of an active instance is refused with `INSTANCE_EXISTS`. */
  readonly instanceId?: string;
  /** Allows the id of an instance that has ended. Default false. */
  readonly reuse?: boolean;
  /** Value of `ctx.context` in the job. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** W3C trace context: the instance becomes part of that trace. */
  readonly traceparent?: string;
  /** The application that the instance belongs to; its children inherit it. Default: the engine's option `app`. */
  readonly app?: string;
}

/** An event for the code of an instance. */
export interface RaisedData {
  readonly name: string;
  readonly data?: unknown;
}

/** Options of `startWorkflow`. */
export interface StartOptions {
  /** Default: a new UUID. */
  readonly instanceId?: string;
  /** Allows the id of an instance that has ended; `"unless-succeeded"` only if it did not succeed. Default false. */
  readonly reuse?: Reuse;
  /**
   * Action if an instance with this id is active: `refuse` throws `INSTANCE_EXISTS` (the default), `use` returns it,
   * `terminate` ends it and starts the new one.
   */
  readonly whenActive?: "refuse" | "use" | "terminate";
  /** W3C trace context: the instance becomes part of that trace. */
  readonly traceparent?: string;
  /** The application that the instance belongs to; its children inherit it. Default: the engine's option `app`. */
  readonly app?: string;
}

/** Options of `pauseWorkflowInstance`: what the instance says while it is paused. */
export interface PauseOptions {
  /** Author of the pause. */
  readonly by?: string;
  readonly reason?: string;
}
