import { utf8Length } from "../base/utf8.ts";

/**
 * A user's value as the kernel sees it: opaque JSON text, or, when it is large, a reference to a row of the
 * payload table. The kernel moves payloads about and counts their bytes; it never looks inside.
 */
export type Payload = string | PayloadRef;

export interface PayloadRef {
  readonly ref: number;
  readonly bytes: number;
}

/** Values whose text is longer than this travel by reference. */
export const payloadInlineBytesMax = 4096;

/** Limit of one output, and of the whole context of an instance. */
export const payloadBytesMax = 10_485_760;

/** Limit of values that are put together in memory: a result, the input of a job or an expression, an HTTP answer. */
export const joinedBytesMax = 67_108_864;

export function payloadBytes(payload: Payload): number {
  return typeof payload === "string" ? utf8Length(payload) : payload.bytes;
}
