import type { ContextPatch, MapPage } from "../event.ts";
import type { Failure } from "../failure.ts";
import type { SharedInput, TaskAttempt } from "../input.ts";
import type { NodeSpec } from "../node-spec.ts";
import type { Payload } from "../payload.ts";

/** Inputs of a DAG. */
export type DagInput =
  | SharedInput
  | { readonly type: "RerunInstance"; readonly task: number; readonly params?: string }
  | { readonly type: "SucceedTask"; readonly task: number; readonly output?: Payload }
  | { readonly type: "SkipTask"; readonly task: number }
  | { readonly type: "UpdateContext"; readonly patch: ContextPatch }
  | { readonly type: "UpdateParams"; readonly task: number; readonly params: string }
  | { readonly type: "AddSubTask"; readonly parent: number; readonly node: NodeSpec }
  | DecisionEvaluated
  | ItemsListed
  | AddItems
  | WorkersGone;

export interface ItemsListed extends TaskAttempt {
  readonly type: "ItemsListed";
  readonly pages: readonly MapPage[];
  /** The eligible workers, in place of the pages of a broadcast. */
  readonly workers?: readonly string[];
  /** Why there are no items. */
  readonly failure?: Failure;
}

/** An attempt of a map with a source hands in items: those of one of its calls, from an index on. */
export interface AddItems extends TaskAttempt {
  readonly type: "AddItems";
  readonly generation: number;
  readonly call: number;
  readonly from: number;
  readonly pages: readonly MapPage[];
}

/** Workers of a broadcast have left the cluster: the items that wait for them never run. */
export interface WorkersGone extends TaskAttempt {
  readonly type: "WorkersGone";
  readonly items: readonly number[];
}

export interface DecisionEvaluated extends TaskAttempt {
  readonly type: "DecisionEvaluated";
  readonly value: { readonly ok: unknown } | { readonly failure: Failure };
}
