import type { ParentAddress } from "./address.ts";
import type { NodeSpec } from "./node-spec.ts";
import type { ContextPatch, Event, Execution, ForkedFrom, LastHeartbeat, PausedBy, Trigger } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { Payload } from "./payload.ts";
import type { EndStatus } from "./status.ts";

/**
 * Inputs that every machine takes. Each is consumed in a turn, in order of arrival. The inputs that only DAGs or only
 * code workflows take are defined beside their machines: `DagInput` and `CodeInput`.
 */
export type SharedInput =
  | StartInstance
  /** A place became free for an instance that waited above its workflow's maximum; or, with a refusal, none ever will. */
  | { readonly type: "AdmitInstance"; readonly refusal?: Refusal }
  | PauseInstance
  | { readonly type: "ResumeInstance" }
  | { readonly type: "TerminateInstance"; readonly reason: string }
  | CancelInstance
  | RetryInstance
  | StopTask
  | AttemptStarted
  | AttemptEnded
  | CompleteTask
  | AttemptsWithdrawn
  | ChildEnded
  | TimerDue;

/** An input of some machine. A machine refuses those of the other kind with `INSTANCE_STATE`. */
export interface AnyInput {
  readonly type: string;
}

export interface TaskAttempt {
  readonly task: number;
  readonly attempt: number;
}

export interface StartInstance {
  readonly type: "StartInstance";
  readonly workflow: string;
  readonly version: string;
  readonly generation: number;
  readonly context: Readonly<Record<string, Payload>>;
  readonly maxConcurrentTasks?: number;
  readonly parent?: ParentAddress;
  readonly trigger: Trigger;
  readonly traceparent?: string | undefined;
  /** The application that the instance belongs to. */
  readonly app?: string | undefined;
  /** Input of a code workflow. */
  readonly input?: Payload | undefined;
  readonly fork?: Fork;
  /** Parameters of a DAG's first task, in place of those in the definition. */
  readonly taskParams?: string;
  /** Decision about a start above the workflow's maximum: wait, or end at once with this reason. */
  readonly admission: "run" | "queue" | Refusal;
}

/** A code workflow that continues from a recorded point of another instance. */
export interface Fork {
  readonly from: ForkedFrom;
  /** Events of that instance after its start, up to the point of the fork. */
  readonly events: readonly Event[];
  /** Flags with which those events were recorded. */
  readonly flags?: readonly number[];
}

/** End of an instance above its workflow's maximum: at once, as skipped or as failed. */
export interface Refusal {
  readonly refuse: "skip" | "fail";
  readonly reason: string;
}

/**
 * Retries an instance. Sent by the parent when its nested node is retried, with the new attempt to report to; otherwise
 * by a user.
 */
export interface RetryInstance {
  readonly type: "RetryInstance";
  readonly parent?: ParentAddress;
}

/** A DAG is terminated. Code compensates and ends by itself; it does so later if the cancel is held because the code is absent or compensates a saga. */
export interface CancelInstance {
  readonly type: "CancelInstance";
  readonly reason: string;
  readonly isHeld?: true;
}

/** Pauses an instance; its children get the same request. */
export interface PauseInstance extends PausedBy {
  readonly type: "PauseInstance";
}

/** A wake-up of the instance may be due: a retry, a timer, its deadline. */
export interface TimerDue {
  readonly type: "TimerDue";
  readonly isCodeAbsent?: true;
}

/** A user stops one task that has not ended. */
export interface StopTask {
  readonly type: "StopTask";
  readonly task: number;
  readonly reason: string;
}

export interface AttemptStarted extends TaskAttempt {
  readonly type: "AttemptStarted";
  readonly generation: number;
  readonly worker: string;
  readonly startedAt: number;
}

export interface AttemptEnded extends TaskAttempt, Execution {
  readonly type: "AttemptEnded";
  readonly generation: number;
  readonly outcome: Outcome;
}

/** Result of an attempt. */
export type Outcome =
  | {
      readonly kind: "success";
      readonly output?: Payload;
      readonly patch?: ContextPatch;
      readonly subTasks?: readonly NodeSpec[];
    }
  | ({ readonly kind: "failure"; readonly failure: Failure } & LastHeartbeat)
  | ({ readonly kind: "timeout"; readonly failure: Failure } & LastHeartbeat)
  /** The attempt is completed from outside, within this time; absent: within the timeout of the task. */
  | { readonly kind: "awaits"; readonly timeoutMs?: number }
  /** Lost with its process, worker or member. Reported once per loss; the attempt runs again under the same number. */
  | ({ readonly kind: "lost" } & LastHeartbeat);

/** The result of an attempt that came from outside, by its token. */
export interface CompleteTask extends TaskAttempt {
  readonly type: "CompleteTask";
  readonly generation: number;
  readonly result: CompletionResult;
}

export type CompletionResult =
  | { readonly kind: "success"; readonly output?: Payload }
  | { readonly kind: "failure"; readonly failure: Failure };

/** The dispatcher took these back: before they started, or because their worker has stopped. */
export interface AttemptsWithdrawn {
  readonly type: "AttemptsWithdrawn";
  readonly runs: readonly WithdrawnAttempt[];
}

export interface WithdrawnAttempt extends TaskAttempt, LastHeartbeat {}

export interface ChildEnded extends TaskAttempt {
  readonly type: "ChildEnded";
  readonly generation: number;
  readonly status: EndStatus;
  /** The child could not be started, or is gone. */
  readonly isMissing?: true;
  readonly reason?: string;
  /** Outputs of a DAG by task name, as one JSON object; the return value of code. */
  readonly output?: Payload;
  /** The failure with which code ended. */
  readonly failure?: Failure;
  readonly patch?: ContextPatch;
}
