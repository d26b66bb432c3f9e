import type { z } from "zod";

/**
 * Who may: viewers look, operators run things, admins change who may and end the server; each may do what those before it
 * may. Workers run tasks and may do nothing else; so may admins.
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
  /** Of the path. */
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** What the envelope holds. */
  readonly data: Data;
  /** 201 where something is made; default 200. */
  readonly status?: 200 | 201;
  /** It makes something: the same Idempotency-Key again makes nothing new. */
  readonly isCreate?: boolean;
}
