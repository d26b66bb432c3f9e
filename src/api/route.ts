import type { z } from "zod";

/**
 * The role of an API token. Viewers read, operators also run and change things, admins also manage tokens and stop the server.
 * Workers may connect as remote workers and nothing else; admins may connect too.
 */
export type Role = "viewer" | "operator" | "worker" | "admin";

export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Data extends z.ZodType = z.ZodType,
> {
  readonly summary: string;
  readonly role: Role;
  /** Parameters of the path. */
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The `data` of the response envelope. */
  readonly data: Data;
  /** 201 for operations that create something; default 200. */
  readonly status?: 200 | 201;
  /** Every member is asked for its part of the answer; those that did not answer in time are named beside `data`. */
  readonly isOfCluster?: boolean;
  /** The operation concerns what all namespaces share: a token that is bound to one is refused. */
  readonly isShared?: boolean;
  /** The operation creates something; repeating it with the same Idempotency-Key creates nothing new. */
  readonly isCreate?: boolean;
}
