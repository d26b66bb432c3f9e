import { z } from "zod";
import { interfaceErrors } from "../../api/envelope.ts";
import { nothing } from "../../api/common-schemas.ts";
import { paths, type RouteName } from "../../api/paths.ts";
import type { Route } from "../../api/route.ts";
import { routes } from "../../api/routes.ts";
import { errorCodes } from "../../base/error.ts";
import { errorStatus } from "./error-status.ts";

type Schema = Record<string, unknown>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly "x-role": string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { required: boolean; content: { "application/json": { schema: Schema } } };
  readonly responses: Record<string, unknown>;
}

export interface OpenApi {
  readonly openapi: "3.1.0";
  readonly info: { title: string; version: string; description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
  readonly security: readonly object[];
}

/** The OpenAPI document of the contract. */
export function openApiOf(version: string): OpenApi {
  const documented: Record<string, Record<string, Operation>> = {};
  for (const name of Object.keys(paths) as RouteName[]) {
    const [method, path] = paths[name].split(" ") as [string, string];
    (documented[path] ??= {})[method.toLowerCase()] = operationOf(name, path, routes[name]);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Heddle",
      version,
      description:
        "Answers are `{code: 0, data}` or `{code, message, details?}`. Times are epoch milliseconds. Lists come in pages: `next` is the cursor of the next one, null on the last; plain lists name the next page in the header `Link`.",
    },
    paths: documented,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Refusal: refusal() },
    },
    security: [{ token: [] }, {}],
  };
}

function operationOf(name: RouteName, path: string, route: Route): Operation {
  const status = String(route.status ?? 200);
  const body = bodyOf(route);
  return {
    operationId: name,
    summary: route.summary,
    tags: [path.split("/")[2] as string],
    "x-role": route.role,
    parameters: [
      ...parametersOf("path", route.params),
      ...parametersOf("query", route.query),
      ...(route.isCreate === true ? [idempotencyKey] : []),
      ...(route.isShared === true ? [] : [namespaceHeader]),
    ],
    ...(body !== undefined && { requestBody: body }),
    responses: {
      [status]: {
        description: "Done.",
        content: { "application/json": { schema: envelopeOf(route) } },
      },
      default: {
        description: "Refused.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Refusal" } } },
      },
    },
  };
}

const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "The same key again makes nothing new, and gives the same answer.",
  schema: { type: "string", minLength: 1, maxLength: 200 },
};

const namespaceHeader: Parameter = {
  name: "X-Heddle-Namespace",
  in: "header",
  required: false,
  description: "The namespace of the request. Default: the one that the token is bound to, or `default`.",
  schema: { type: "string", minLength: 1, maxLength: 63 },
};

function parametersOf(place: "path" | "query", schema: z.ZodType): Parameter[] {
  const { properties = {}, required = [] } = jsonSchema(schema, "input") as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(typeof description === "string" && { description }),
    schema: rest,
  }));
}

/** The request body; undefined if the operation has none. */
function bodyOf({ body }: Route): Operation["requestBody"] {
  if (body === nothing) return undefined;
  const required = !body.safeParse(undefined).success;
  return { required, content: { "application/json": { schema: jsonSchema(body, "input") } } };
}

function envelopeOf({ data, isOfCluster }: Route): Schema {
  const properties = { code: { const: 0 }, data: jsonSchema(data, "output") };
  return {
    type: "object",
    required: ["code", "data"],
    properties: isOfCluster === true ? { ...properties, unanswered } : properties,
  };
}

const unanswered: Schema = {
  type: "array",
  items: { type: "string" },
  description:
    "Addresses of members that did not answer in time: what they run and hold is not in `data`. Absent if all answered.",
};

function refusal(): Schema {
  const known = [...Object.entries(interfaceErrors), ...Object.entries(errorStatus)];
  const codes = known.map(([code, status]) => `${code} (${status})`);
  return {
    type: "object",
    required: ["code", "message"],
    properties: {
      code: { type: "string", enum: Object.keys({ ...interfaceErrors, ...errorCodes }), description: codes.join(", ") },
      message: { type: "string" },
      details: {
        type: "array",
        items: {
          type: "object",
          required: ["path", "problem"],
          properties: { path: { type: "string" }, problem: { type: "string" } },
        },
      },
    },
  };
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
