/** The response body of every operation under /api. */
export type Envelope<Data> = Success<Data> | Refusal;

export interface Success<Data> {
  readonly code: 0;
  readonly data: Data;
  /** Addresses of members that did not answer in time, if there are any: what they run and hold is not in `data`. */
  readonly unanswered?: readonly string[];
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  /** The problems of an invalid request, with their places. */
  readonly details?: readonly { readonly path: string; readonly problem: string }[];
}

/** HTTP status of the error codes of the HTTP interface itself; all other codes are the engine's (docs/errors.md). */
export const interfaceErrors = {
  REQUEST_INVALID: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  IDEMPOTENCY_KEY_REUSED: 409,
  INSTANCE_OWNED: 409,
  SCHEDULE_OWNED: 409,
  TOKEN_EXISTS: 409,
  TOKEN_CONFIGURED: 409,
  TOKEN_LAST: 409,
  ADMIN_TOKEN_MISSING: 409,
  BODY_TOO_LARGE: 413,
  MEDIA_TYPE_UNSUPPORTED: 415,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  QUERY_TIMEOUT: 504,
  DEADLINE_EXCEEDED: 504,
} as const satisfies Record<string, number>;

export type InterfaceErrorCode = keyof typeof interfaceErrors;
