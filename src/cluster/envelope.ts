import { EngineError, type ErrorCode, errorCodes, messageOf } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import type { CallTarget } from "./outgoing-call.ts";

/** A message between members, over the bus or through a mailbox in the store. */
export type Envelope = CallRequest | CallAnswer | HintMessage | MailNotice;

/** Carries a call to the owner of a shard, or to one member. */
export type CallRequest = CallTarget & {
  readonly kind: "request";
  /** Unique to one call and the same for all its repetitions; the answer names it. */
  readonly id: string;
  /** The idempotency key, by which the owner recognises a call that it has carried out. */
  readonly key: string;
  /** The member that waits for the answer. */
  readonly from: string;
  readonly body: unknown;
};

export interface CallAnswer {
  readonly kind: "answer";
  /** Id of the request. */
  readonly id: string;
  /** The member that answers. */
  readonly from: string;
  readonly outcome: CallOutcome;
}

export type CallOutcome = { readonly value: unknown } | { readonly error: CarriedError };

/** An error as it is sent to another member, without its stack. */
export interface CarriedError {
  /** Absent for an error that is not an `EngineError`. */
  readonly code?: ErrorCode;
  readonly message: string;
}

/** Carries a hint, which nobody waits for. */
export interface HintMessage {
  readonly kind: "hint";
  readonly from: string;
  readonly body: unknown;
}

/** Says that a message waits in a mailbox of the receiver: one that is too long for the bus, or was not answered over it. */
export interface MailNotice {
  readonly kind: "mail";
  readonly from: string;
}

/** `VALUE_NOT_SERIALIZABLE` if the body cannot be written as JSON. */
export function formatEnvelope(envelope: Envelope): string {
  try {
    return JSON.stringify(envelope);
  } catch (cause) {
    const message = `a ${envelope.kind} between members cannot be written as JSON: ${messageOf(cause)}`;
    throw new EngineError("VALUE_NOT_SERIALIZABLE", message, { cause });
  }
}

/** Throws a plain error for a text that no member has written. */
export function parseEnvelope(text: string): Envelope {
  const envelope = envelopeOf(parseJson(text));
  if (envelope === undefined) throw new Error(`not a message between members: ${preview(text)}`);
  return envelope;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A text that is not JSON is no message between members; `parseEnvelope` says so.
    return undefined;
  }
}

function envelopeOf(value: unknown): Envelope | undefined {
  if (!isRecord(value)) return undefined;
  const { kind, id, key, from, body } = value;
  if (typeof from !== "string") return undefined;
  if (kind === "hint") return { kind, from, body };
  if (kind === "mail") return { kind, from };
  if (typeof id !== "string") return undefined;
  if (kind === "request") {
    const target = targetOf(value);
    return typeof key === "string" && target !== undefined ? { kind, id, key, from, body, ...target } : undefined;
  }
  const outcome = kind === "answer" ? outcomeOf(value["outcome"]) : undefined;
  return outcome && { kind: "answer", id, from, outcome };
}

function targetOf({ shard, member }: Record<string, unknown>): CallTarget | undefined {
  if (isShard(shard)) return { shard };
  return typeof member === "string" ? { member } : undefined;
}

/** An answer without a value carries undefined, which JSON cannot express. */
function outcomeOf(value: unknown): CallOutcome | undefined {
  if (!isRecord(value)) return undefined;
  const { error } = value;
  if (error === undefined) return { value: value["value"] };
  if (!isRecord(error) || typeof error["message"] !== "string") return undefined;
  const { code, message } = error;
  return { error: { message, ...(isCode(code) && { code }) } };
}

export function carryError(error: unknown): CarriedError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return { message: messageOf(error), ...(isCode(code) && { code }) };
}

/** Makes an error with the code and message of the original. */
export function rebuildError(carried: CarriedError): Error {
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
