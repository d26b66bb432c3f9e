import type { Failure } from "../kernel/failure.ts";

/** Input that the code reacts to, one at a time and in the order of history. Values are JSON text. */
export type Arrival =
  | { readonly type: "start"; readonly input: string | undefined; readonly events: readonly RaisedEvent[] }
  | { readonly type: "task-succeeded"; readonly task: number; readonly output: string | undefined }
  | { readonly type: "task-failed"; readonly task: number; readonly failure: Failure }
  | { readonly type: "timer-fired"; readonly timer: number }
  | { readonly type: "event"; readonly event: RaisedEvent }
  | { readonly type: "update"; readonly update: string; readonly name: string; readonly data: string | undefined }
  | { readonly type: "cancel"; readonly reason: string; readonly isHeld: boolean }
  | { readonly type: "paused" }
  | { readonly type: "resumed" };

export interface RaisedEvent {
  readonly name: string;
  readonly data: string | undefined;
}
