/** Every answer under /api is one of these two. */
export type Envelope<Data> = { readonly code: 0; readonly data: Data } | Refusal;

export interface Refusal {
  readonly code: string;
  readonly message: string;
  /** Of a request that does not fit: where, and why. */
  readonly details?: readonly { readonly path: string; readonly problem: string }[];
}

/** Errors of the interface itself; all others are the engine's own (docs/errors.md). With their HTTP status. */
export const interfaceErrors = {
  REQUEST_INVALID: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  BODY_TOO_LARGE: 413,
  MEDIA_TYPE_UNSUPPORTED: 415,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  QUERY_TIMEOUT: 504,
  DEADLINE_EXCEEDED: 504,
} as const satisfies Record<string, number>;

export type InterfaceErrorCode = keyof typeof interfaceErrors;
