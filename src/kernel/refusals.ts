import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { InstanceState } from "./instance-state.ts";
import { hasEnded } from "./status.ts";

/** The error for an operation that the state of the instance does not allow. */
export function stateRefusal(state: InstanceState, id: string, operation: string): EngineError {
  const { status, pausing } = state;
  const standing = pausing ? `${status} and already pausing` : status;
  return new EngineError("INSTANCE_STATE", `cannot ${operation} instance "${localName(id)}": it is ${standing}`);
}

export function refuseIfEnded(state: InstanceState, id: string, operation: string): void {
  if (hasEnded(state.status)) throw stateRefusal(state, id, operation);
}

export function refuseIfStarted({ generation, status }: InstanceState, id: string): void {
  if (generation === 0) return;
  throw new EngineError("INSTANCE_EXISTS", `instance "${localName(id)}" has been started already; it is ${status}`);
}

export function refuseUnlessStarted({ generation }: InstanceState, id: string): void {
  if (generation > 0) return;
  throw new EngineError("INSTANCE_UNKNOWN", `instance "${localName(id)}" was never started`);
}
