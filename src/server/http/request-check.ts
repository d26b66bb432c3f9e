import { z } from "zod";
import { nothing } from "../../api/common-schemas.ts";
import type { RouteName } from "../../api/paths.ts";
import { type CheckedRequest, routes } from "../../api/routes.ts";
import { didYouMean } from "../../base/closest-name.ts";
import { HttpError } from "../request/http-error.ts";

export interface RawRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

type Place = "path" | "query" | "body";

interface Detail {
  readonly path: string;
  readonly problem: string;
}

/** The schemas of each operation, by what they return: so the compiler follows them through a name that is a variable. */
type Schemas = {
  readonly [N in RouteName]: {
    readonly [Part in keyof CheckedRequest<N>]: z.ZodType<CheckedRequest<N>[Part]>;
  };
};

const schemas: Schemas = routes;

/** Validates a request and adds defaults. `REQUEST_INVALID` with every problem. */
export function checkRequest<N extends RouteName>(name: N, raw: RawRequest): CheckedRequest<N> {
  const schema = schemas[name];
  const details: Detail[] = [];
  refuseUnknownParameters(schema.query, raw.query, details);
  const params = check("path", schema.params, raw.params, details);
  const query = check("query", schema.query, raw.query, details);
  const body = check("body", schema.body, raw.body, details);
  const [first, ...others] = details;
  if (first === undefined && params.success && query.success && body.success) {
    return { params: params.data, query: query.data, body: body.data };
  }
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  throw new HttpError("REQUEST_INVALID", `the request does not fit: ${first?.path}: ${first?.problem}${more}`, {
    details,
  });
}

/** Refuses unknown query parameters: a misspelt one would be ignored silently. */
function refuseUnknownParameters(schema: z.ZodType, query: unknown, details: Detail[]): void {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  for (const key of Object.keys(query ?? {})) {
    if (known.includes(key)) continue;
    details.push({ path: `query.${key}`, problem: `is not a parameter of this operation${didYouMean(key, known)}` });
  }
}

/** Parses a value. An operation without a body takes whatever is sent as its body, and does not see it. */
function check<Checked>(
  place: Place,
  schema: z.ZodType<Checked>,
  value: unknown,
  details: Detail[],
): z.ZodSafeParseResult<Checked> {
  const result = schema.safeParse(Object.is(schema, nothing) ? {} : value);
  for (const { path, message } of result.error?.issues ?? []) {
    details.push({ path: [place, ...path.map(String)].join("."), problem: message });
  }
  return result;
}
