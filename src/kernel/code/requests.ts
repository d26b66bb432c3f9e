import type { CancelInstance, StopTask } from "../input.ts";
import { refuseIfEnded } from "../refusals.ts";
import { stopTask } from "../task-reports.ts";
import { schedule } from "./advance.ts";
import type { CodeInput } from "./code-input.ts";
import type { CodeTransition } from "./code-transition.ts";
import { cancelWaits, end } from "./ending.ts";

// Requests of users to an instance that has not ended.

export function raiseEvent(transition: CodeTransition, input: Extract<CodeInput, { type: "RaiseEvent" }>): void {
  refuseIfEnded(transition.state, transition.identity.id, "raise an event for");
  transition.emit({ ...input, type: "EventRaised" });
}

/** An update that was accepted before is not recorded again; its answer stays the same. */
export function requestUpdate(transition: CodeTransition, input: Extract<CodeInput, { type: "RequestUpdate" }>): void {
  if (transition.state.hasUpdate(input.update)) return;
  refuseIfEnded(transition.state, transition.identity.id, "update");
  transition.emit({ ...input, type: "UpdateRequested" });
}

/** Cancels everything that the code waits for, once. A held cancel takes effect later. */
export function cancel(transition: CodeTransition, { reason, isHeld }: CancelInstance): void {
  const { state } = transition;
  refuseIfEnded(state, transition.identity.id, "cancel");
  // Code that has not started has nothing to compensate.
  if (state.status === "Ready") return end(transition, "Terminated", { reason });
  if (state.cancelReason !== undefined && (isHeld || !state.isCancelHeld)) return;
  if (isHeld) return transition.emit({ type: "CancelRequested", reason, isHeld });
  cancelWaits(transition, reason, { type: "CancelRequested", reason });
}

export function stop(transition: CodeTransition, input: StopTask): void {
  stopTask(transition, input);
  schedule(transition);
}
