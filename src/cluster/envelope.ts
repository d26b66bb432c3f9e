import { EngineError, type ErrorCode, errorCodes, messageOf } from "../base/error.ts";
import { preview } from "../base/preview.ts";

/** What members say to each other, over the bus or through mailboxes in the store. */
export type Envelope = CallRequest | CallAnswer | Hint;

/** Asks the owner of a shard for something. */
export interface CallRequest {
  readonly kind: "request";
  /** The same for all repetitions of one call, and no other call has it: answers name it. */
  readonly id: string;
  /** By this the owner knows what it has carried out already. Calls may share one, if they ask for the same thing. */
  readonly key: string;
  /** The member that waits for the answer. */
  readonly from: string;
  readonly shard: number;
  readonly body: unknown;
}

export interface CallAnswer {
  readonly kind: "answer";
  /** The request's. */
  readonly id: string;
  /** The member that answers. */
  readonly from: string;
  readonly outcome: CallOutcome;
}

export type CallOutcome = { readonly value: unknown } | { readonly error: CarriedError };

/** An error on its way to another member. Its stack stays behind. */
export interface CarriedError {
  /** None for an error that is not one of Heddle's own. */
  readonly code?: ErrorCode;
  readonly message: string;
}

/** Something worth knowing that nobody waits for. */
export interface Hint {
  readonly kind: "hint";
  readonly from: string;
  readonly body: unknown;
}

/** `VALUE_NOT_SERIALIZABLE`: what it carries cannot be written as JSON. */
export function formatEnvelope(envelope: Envelope): string {
  try {
    return JSON.stringify(envelope);
  } catch (cause) {
    const message = `a ${envelope.kind} between members cannot be written as JSON: ${messageOf(cause)}`;
    throw new EngineError("VALUE_NOT_SERIALIZABLE", message, { cause });
  }
}

/** A plain error for a text that no member has written. */
export function parseEnvelope(text: string): Envelope {
  const envelope = envelopeOf(parsed(text));
  if (envelope === undefined) throw new Error(`not a message between members: ${preview(text)}`);
  return envelope;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No JSON is no message of ours, which is all that there is to say about it.
    return undefined;
  }
}

function envelopeOf(value: unknown): Envelope | undefined {
  if (!isRecord(value)) return undefined;
  const { kind, id, key, from, shard, body } = value;
  if (typeof from !== "string") return undefined;
  if (kind === "hint") return { kind, from, body };
  if (typeof id !== "string") return undefined;
  if (kind === "request") {
    return typeof key === "string" && isShard(shard) ? { kind, id, key, from, shard, body } : undefined;
  }
  const outcome = kind === "answer" ? outcomeOf(value["outcome"]) : undefined;
  return outcome && { kind: "answer", id, from, outcome };
}

/** An answer without a value is one whose value is undefined: JSON has no other way to say so. */
function outcomeOf(value: unknown): CallOutcome | undefined {
  if (!isRecord(value)) return undefined;
  const { error } = value;
  if (error === undefined) return { value: value["value"] };
  if (!isRecord(error) || typeof error["message"] !== "string") return undefined;
  const { code, message } = error;
  return { error: { message, ...(isCode(code) && { code }) } };
}

export function carriedError(error: unknown): CarriedError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return { message: messageOf(error), ...(isCode(code) && { code }) };
}

/** As it was thrown, as far as it could travel. */
export function rebuiltError(carried: CarriedError): Error {
  const { code, message } = carried;
  return code === undefined ? new Error(message) : new EngineError(code, message);
}

/** A member of a newer version may know codes that this one does not; Node's own errors have codes too. */
function isCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}

function isShard(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
