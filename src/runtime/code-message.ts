import { EngineError, messageOf } from "../base/error.ts";
import type { CodeState } from "../kernel/code/code-state.ts";
import type { Message, InputMessage } from "./message.ts";

/** The message is answered by the instance's code: a query of code, or an update that is not on record yet. */
export function needsCode(message: Message, state: CodeState): boolean {
  if ("query" in message) return message.ofCode === true;
  const { input } = message;
  return input.type === "RequestUpdate" && !state.hasUpdate(input.update);
}

/** The message changes nothing: a query, or an update that is on record already. */
export function changesNothing(message: Message, state: CodeState): boolean {
  if ("query" in message) return true;
  return message.input.type === "RequestUpdate" && state.hasUpdate(message.input.update);
}

/**
 * The outcome of an attempt that was lost before. Code that ends the process when it sees the outcome must not lose it
 * again.
 */
export function isRepeatedOutcome(message: Message, state: CodeState): boolean {
  if ("query" in message || message.input.type !== "AttemptEnded") return false;
  const { task, attempt, generation } = message.input;
  if (generation !== state.generation || task >= state.size || attempt !== state.attempt(task)) return false;
  return (state.record(task)?.interruptions ?? 0) > 0;
}

/**
 * Removes from the inbox of an instance without a turn what needs no code: its start and the events that were raised with
 * it, which are acknowledged together; or, if its start was refused, everything before the next one, which is refused too.
 */
export function takeUntilStarted(inbox: Message[]): Message[] {
  const first = inbox.findIndex(isStart);
  const after = inbox.findIndex((message) => !isStart(message) && !isRaisedEvent(message));
  const end = first === 0 ? after : first;
  return inbox.splice(0, end === -1 ? inbox.length : end);
}

function isStart(message: Message): boolean {
  return "input" in message && message.input.type === "StartInstance";
}

function isRaisedEvent(message: Message): boolean {
  return "input" in message && message.input.type === "RaiseEvent";
}

/** The error for the caller of an update whose validator threw. */
export function updateRefusal({ input }: InputMessage, error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const name = "name" in input ? input.name : "";
  return new EngineError("INPUT_INVALID", `update "${name}" was not let in: ${messageOf(error)}`, { cause: error });
}
