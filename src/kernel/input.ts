import type { ParentAddress } from "./address.ts";
import type { NodeSpec } from "./node-spec.ts";
import type { ContextPatch, Event, Execution, ForkedFrom, Trigger } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { Payload } from "./payload.ts";
import type { EndStatus } from "./status.ts";
import type { Step } from "./code/step.ts";

/** What may be said to an instance. Each is consumed in a turn, in order of arrival. */
export type Input =
  | StartInstance
  /** A place became free for an instance that waited above its workflow's maximum; or none ever will. */
  | { readonly type: "AdmitInstance"; readonly refusal?: Refusal }
  | { readonly type: "PauseInstance" }
  | { readonly type: "ResumeInstance" }
  | { readonly type: "TerminateInstance"; readonly reason: string }
  | RetryInstance
  | { readonly type: "RerunInstance"; readonly task: number; readonly params?: string }
  | { readonly type: "SucceedTask"; readonly task: number; readonly output?: Payload }
  | { readonly type: "SkipTask"; readonly task: number }
  | StopTask
  | { readonly type: "UpdateContext"; readonly patch: ContextPatch }
  | { readonly type: "UpdateParams"; readonly task: number; readonly params: string }
  | { readonly type: "AddSubTask"; readonly parent: number; readonly node: NodeSpec }
  | AttemptStarted
  | AttemptEnded
  | AttemptsWithdrawn
  | DecisionEvaluated
  | ChildEnded
  /** Some wake-up of the instance may be due: retries, timers, its deadline. */
  | { readonly type: "TimerDue"; readonly isCodeAbsent?: true }
  | CodeInput;

/** What may be said to code workflows only. */
export type CodeInput =
  | { readonly type: "RaiseEvent"; readonly name: string; readonly data?: Payload }
  | { readonly type: "RequestUpdate"; readonly update: string; readonly name: string; readonly data?: Payload }
  /** Held: the code is not there, or undoes a saga, and will heed it when it can. */
  | { readonly type: "CancelInstance"; readonly reason: string; readonly isHeld?: true }
  /** The next reaction of the code is recorded before it runs; and that it came through. */
  | { readonly type: "StartReaction"; readonly losses: number }
  | { readonly type: "EndReaction"; readonly losses: number }
  /** What the code did with the last arrival that it has seen. */
  | { readonly type: "StepsTaken"; readonly steps: readonly Step[] };

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
  /** Of a code workflow. */
  readonly input?: Payload | undefined;
  readonly fork?: Fork;
  /** Of a DAG: parameters of its first task, in place of those in the definition. */
  readonly taskParams?: string;
  /** Above the workflow's maximum: wait, or end at once with this reason. */
  readonly admission: "run" | "queue" | Refusal;
}

/** A code workflow that goes on from what another instance had come to. */
export interface Fork {
  readonly from: ForkedFrom;
  /** What had happened to that instance after its start. */
  readonly events: readonly Event[];
}

/** Above the workflow's maximum: the instance ends at once, as skipped or as failed. */
export interface Refusal {
  readonly refuse: "skip" | "fail";
  readonly reason: string;
}

/** From the parent when its nested node is retried, which gives the new attempt to report to; otherwise from a user. */
export interface RetryInstance {
  readonly type: "RetryInstance";
  readonly parent?: ParentAddress;
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

/** How an attempt ended. */
export type Outcome =
  | {
      readonly kind: "success";
      readonly output?: Payload;
      readonly patch?: ContextPatch;
      readonly subTasks?: readonly NodeSpec[];
    }
  | { readonly kind: "failure"; readonly failure: Failure }
  | { readonly kind: "timeout"; readonly failure: Failure }
  /** Lost with its process, worker or member. Said once per loss: what runs again has the same number. */
  | { readonly kind: "lost" };

/** The dispatcher took these back before they started. */
export interface AttemptsWithdrawn {
  readonly type: "AttemptsWithdrawn";
  readonly runs: readonly TaskAttempt[];
}

export interface DecisionEvaluated extends TaskAttempt {
  readonly type: "DecisionEvaluated";
  readonly value: { readonly ok: unknown } | { readonly failure: Failure };
}

export interface ChildEnded extends TaskAttempt {
  readonly type: "ChildEnded";
  readonly generation: number;
  readonly status: EndStatus;
  /** It could not be started, or is gone. */
  readonly isMissing?: true;
  readonly reason?: string;
  /** Of a DAG: outputs by task name, as one JSON object; of code: what it gave back. */
  readonly output?: Payload;
  readonly patch?: ContextPatch;
}
