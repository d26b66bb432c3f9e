import { z } from "zod";
import { nothing } from "../../api/common-schemas.ts";
import type { Route } from "../../api/route.ts";
import { didYouMean } from "../../base/closest-name.ts";
import { HttpError } from "../request/http-error.ts";

export interface RawRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

type Place = "path" | "query" | "body";

/** Validates a request and adds defaults. `REQUEST_INVALID` with every problem. */
export function checkRequest(route: Route, raw: RawRequest): RawRequest {
  const details: { path: string; problem: string }[] = [];
  refuseUnknownParameters(route.query, raw.query, details);
  const checked = {
    params: check("path", route.params, raw.params, details),
    query: check("query", route.query, raw.query, details),
    body: check("body", route.body, raw.body, details),
  };
  if (details.length === 0) return checked;
  const [{ path, problem }] = details as [{ path: string; problem: string }];
  const more = details.length === 1 ? "" : `, and ${details.length - 1} more`;
  throw new HttpError("REQUEST_INVALID", `the request does not fit: ${path}: ${problem}${more}`, { details });
}

/** Refuses unknown query parameters: a misspelt one would be ignored silently. */
function refuseUnknownParameters(
  schema: z.ZodType,
  query: unknown,
  details: { path: string; problem: string }[],
): void {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  for (const key of Object.keys(query ?? {})) {
    if (known.includes(key)) continue;
    details.push({ path: `query.${key}`, problem: `is not a parameter of this operation${didYouMean(key, known)}` });
  }
}

const empty = Object.freeze({});

function check(place: Place, schema: z.ZodType, value: unknown, details: { path: string; problem: string }[]): unknown {
  if (schema === nothing) return empty;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const { path, message } of result.error.issues) {
    details.push({ path: [place, ...path.map(String)].join("."), problem: message });
  }
  return undefined;
}
