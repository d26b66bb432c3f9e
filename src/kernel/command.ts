import type { ParentAddress } from "./address.ts";
import type { Failure } from "./failure.ts";
import type { ContextPatch } from "./event.ts";
import type { PauseInstance } from "./input.ts";
import type { Payload } from "./payload.ts";
import type { EndStatus } from "./status.ts";

/**
 * Action an instance asks for. Commands of a turn are carried out only after its events are durable, with one
 * exception: `EvaluateDecision` and `ListItems` are answered inside the turn, because they leave nothing behind.
 */
export type Command =
  | { readonly type: "RunTasks"; readonly tasks: readonly number[] }
  /** Withdraws attempts unless they have started; answered by `AttemptsWithdrawn`. */
  | { readonly type: "WithdrawTasks"; readonly attemptIds: readonly string[] }
  /** Aborts attempts, whether or not they run; nothing is answered. */
  | { readonly type: "AbortTasks"; readonly attemptIds: readonly string[] }
  | { readonly type: "EvaluateDecision"; readonly task: number; readonly attempt: number }
  /** Evaluates the items of a map; answered by `ItemsListed`. */
  | { readonly type: "ListItems"; readonly task: number; readonly attempt: number }
  | StartChild
  | { readonly type: "TellChild"; readonly childId: string; readonly tell: ChildOrder }
  /** Asks any instance to end, whoever started it. */
  | { readonly type: "CancelOther"; readonly to: string; readonly reason: string }
  | { readonly type: "SendEvent"; readonly to: string; readonly name: string; readonly data?: string }
  | TellParent;

export type ChildOrder =
  | PauseInstance
  | { readonly type: "ResumeInstance" }
  | { readonly type: "TerminateInstance"; readonly reason: string }
  /** A child that is code ends by itself, a DAG is terminated. */
  | { readonly type: "CancelInstance"; readonly reason: string }
  | { readonly type: "RetryInstance"; readonly parent: ParentAddress };

export interface StartChild {
  readonly type: "StartChild";
  readonly task: number;
  readonly childId: string;
  /**
   * The child's workflow, if the parent is code: a new generation, without this task, may begin before the command is
   * run.
   */
  readonly of?: { readonly workflow: string | undefined; readonly version: string | undefined };
  /** Absent for a child that outlives its parent in any case. */
  readonly parent?: ParentAddress;
  /** Input of a child of code; a DAG passes its context. */
  readonly input?: Payload;
  /** True if the code chose the id: another instance may have it. */
  readonly isGivenId?: true;
}

export interface TellParent {
  readonly type: "TellParent";
  readonly parent: ParentAddress;
  readonly status: EndStatus;
  readonly reason?: string;
  readonly patch?: ContextPatch;
  /** Return value of a code workflow. */
  readonly output?: Payload;
  /** The failure with which code ended, shortened. */
  readonly failure?: Failure;
}
