import type { ParentAddress } from "./address.ts";
import type { ContextPatch } from "./event.ts";
import type { EndStatus } from "./status.ts";

/**
 * What an instance wants done. Commands of a turn are carried out only after its events are durable, with one
 * exception: `EvaluateDecision` is answered inside the turn, because it leaves nothing behind.
 */
export type Command =
  | { readonly type: "RunTasks"; readonly tasks: readonly number[] }
  /** Take them back unless they have started; answered by `NodesWithdrawn`. */
  | { readonly type: "WithdrawTasks"; readonly tasks: readonly number[] }
  /** Stop them, whatever they do; nothing is answered. */
  | { readonly type: "AbortTasks"; readonly tasks: readonly number[] }
  | { readonly type: "EvaluateDecision"; readonly task: number; readonly attempt: number }
  | StartChild
  | { readonly type: "TellChild"; readonly childId: string; readonly tell: ChildOrder }
  | TellParent;

export type ChildOrder =
  | { readonly type: "PauseWorkflow" }
  | { readonly type: "ResumeWorkflow" }
  | { readonly type: "CancelWorkflow"; readonly reason: string }
  | { readonly type: "RetryWorkflow"; readonly parent: ParentAddress };

export interface StartChild {
  readonly type: "StartChild";
  readonly task: number;
  readonly childId: string;
  readonly parent: ParentAddress;
}

export interface TellParent {
  readonly type: "TellParent";
  readonly parent: ParentAddress;
  readonly status: EndStatus;
  readonly reason?: string;
  readonly patch?: ContextPatch;
}
