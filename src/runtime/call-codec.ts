import { preview } from "../base/preview.ts";
import type { Call, CallType, Hint, ResultOf } from "./call.ts";
import { callTable } from "./call-table.ts";

/**
 * Checks the type of a call that another member has sent, and trusts its other fields. Throws a plain error for a type
 * that this member does not know: a member of a newer version may have sent it.
 */
export function decodeCall(body: unknown): Call {
  if (isCall(body)) return body;
  throw new Error(`not a call that this member knows: ${preview(body)}`);
}

/**
 * Returns the result of a call of that type, without checking it. JSON has no undefined, and some writers send null
 * instead.
 */
export function decodeResult<T extends CallType>(_type: T, value: unknown): ResultOf<T> {
  return (value ?? undefined) as ResultOf<T>;
}

/** Checks the type of a hint; returns undefined for one that this member does not know. */
export function decodeHint(body: unknown): Hint | undefined {
  return isHint(body) ? body : undefined;
}

/** A call that changes something for a user. Everything else is repeated by the member that sent it, or harmless. */
export function isUserWrite(body: unknown): boolean {
  if (!isCall(body)) return false;
  const { sender, effect } = callTable[body.type];
  return sender === "user" && effect === "write";
}

const hintTypes: { readonly [T in Hint["type"]]: true } = {
  OutboxMessage: true,
  AbortAttempts: true,
  AttemptProgress: true,
  FreeSlot: true,
  CodeTurnsOver: true,
  MemberLeaving: true,
  ShardFreed: true,
  ShardOpened: true,
};

function isCall(body: unknown): body is Call {
  return Object.hasOwn(callTable, typeOf(body));
}

function isHint(body: unknown): body is Hint {
  return Object.hasOwn(hintTypes, typeOf(body));
}

/** Returns the `type` of the body; an empty text if it has none. */
function typeOf(body: unknown): string {
  const type = typeof body === "object" && body !== null && "type" in body ? body.type : undefined;
  return typeof type === "string" ? type : "";
}
