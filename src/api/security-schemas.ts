import { z } from "zod";
import { momentMax } from "../base/time-limits.ts";
import { anyId, cursor, epochMs, json, limit, name, namespace, newName } from "./common-schemas.ts";

export const role = z.enum(["viewer", "operator", "worker", "admin"]);

export const auditQuery = z.object({
  who: name.optional().meta({ description: "Lines of this token." }),
  operation: name.optional().meta({ description: "Lines of this operation." }),
  target: anyId.optional().meta({
    description: "Lines about this instance, with its nodes, events and children; or a workflow, a schedule, a token.",
  }),
  since: z.coerce.number().int().min(0).max(momentMax).optional().meta({ description: "Epoch milliseconds." }),
  cursor,
  limit,
});
export const auditLine = z.object({
  number: z.number().int(),
  at: epochMs,
  who: z.string(),
  what: z.string(),
  namespace: z.string().optional().meta({ description: "Absent for a refused caller that chose none." }),
  role: role.nullable(),
  address: z.string().meta({ description: "Of the connection; behind a proxy, the proxy's." }),
  requestId: z.string(),
  target: z.string().nullable(),
  status: z.number().int(),
  code: z.string().optional().meta({ description: "Of a refusal." }),
  digest: z.string().optional().meta({ description: "SHA-256 of the request's body." }),
  details: json.optional(),
  count: z.number().int().optional().meta({ description: "Refusals that this line stands for." }),
});

/** The audit log's name for callers without a token. */
const reservedNames = ["local", "environment", "anonymous", "many"];

export const newToken = z.object({
  name: newName.refine((text) => !reservedNames.includes(text), {
    message: `must not be one of ${reservedNames.join(", ")}: the audit log uses these itself`,
  }),
  role,
  namespace: namespace.optional().meta({ description: "Binds the token to this namespace." }),
  expiresAt: epochMs.optional(),
});

export const tokenDeletion = z.object({
  force: z.stringbool().default(false).meta({ description: "Also the last one." }),
});

export const madeToken = z.object({
  name: z.string(),
  role,
  namespace: namespace.nullable(),
  token: z.string().meta({ description: "Told once: the server keeps a hash." }),
});
export const tokenView = z.object({
  name: z.string(),
  role,
  namespace: namespace.nullable(),
  createdAt: epochMs.nullable(),
  expiresAt: epochMs.nullable(),
});

export const namespaces = z.object({ items: z.array(z.object({ name: z.string() })) });
