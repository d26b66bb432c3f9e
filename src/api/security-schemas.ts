import { z } from "zod";
import { cursor, epochMs, json, limit, name } from "./common-schemas.ts";

export const role = z.enum(["viewer", "operator", "admin"]);

export const auditQuery = z.object({ cursor, limit });
export const auditLine = z.object({
  number: z.number().int(),
  at: epochMs,
  who: z.string(),
  what: z.string(),
  target: z.string().nullable(),
  status: z.number().int(),
  details: json.optional(),
});

export const newToken = z.object({ name, role, expiresAt: epochMs.optional() });
export const madeToken = z.object({
  name: z.string(),
  role,
  token: z.string().meta({ description: "Told once: the server keeps a hash." }),
});
export const tokenView = z.object({ name: z.string(), role, createdAt: epochMs, expiresAt: epochMs.nullable() });
