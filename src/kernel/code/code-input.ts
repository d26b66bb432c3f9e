import type { SharedInput } from "../input.ts";
import type { Payload } from "../payload.ts";
import type { Step } from "./step.ts";

/** Inputs of a code workflow. */
export type CodeInput =
  | SharedInput
  | { readonly type: "RaiseEvent"; readonly name: string; readonly data?: Payload }
  | { readonly type: "RequestUpdate"; readonly update: string; readonly name: string; readonly data?: Payload }
  /** The next reaction of the code is recorded before it runs, and its end after it. */
  | { readonly type: "StartReaction"; readonly losses: number }
  | { readonly type: "EndReaction"; readonly losses: number }
  | StepsTaken;

/** The steps that the code took in reaction to the last arrival that was delivered to it. */
export interface StepsTaken {
  readonly type: "StepsTaken";
  readonly steps: readonly Step[];
}
