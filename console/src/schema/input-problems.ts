import { fieldOf, type JsonSchema } from "./json-schema.ts";

/** Problems of a value by path: `customer.name`, `items.0`; the whole input has an empty one. */
export type Problems = ReadonlyMap<string, Problem>;

export type Problem =
  | { readonly kind: "missing" | "type" | "choice" | "pattern" | "json" }
  | { readonly kind: "min" | "max" | "above" | "below" | "short" | "long" | "few" | "many"; readonly limit: number }
  /** The server's own words. */
  | { readonly kind: "server"; readonly text: string };

export function pathOf(parent: string, name: string | number): string {
  return parent === "" ? String(name) : `${parent}.${name}`;
}

/** Checks what a form can say. The server checks the whole schema when the instance is started. */
export function problemsOf(schema: JsonSchema, value: unknown): Problems {
  const found = new Map<string, Problem>();
  checkValue({ schema, root: schema, path: "", isRequired: true, found }, value);
  return found;
}

interface Place {
  readonly schema: JsonSchema;
  readonly root: JsonSchema;
  readonly path: string;
  readonly isRequired: boolean;
  readonly found: Map<string, Problem>;
}

function checkValue(place: Place, value: unknown): void {
  const { root, path, isRequired, found } = place;
  const { kind, schema, choices, mayBeNull } = fieldOf(place.schema, root);
  if (value === undefined) {
    if (isRequired && schema.default === undefined && kind !== "json") found.set(path, { kind: "missing" });
    return;
  }
  if (value === null && mayBeNull) return;
  const problem = kind === "choice" ? choiceProblem(choices, value) : plainProblem(kind, schema, value);
  if (problem !== undefined) found.set(path, problem);
  else if (kind === "object") checkProperties({ ...place, schema }, value as Record<string, unknown>);
  else if (kind === "list" && typeof schema.items === "object") {
    for (const [at, item] of (value as unknown[]).entries()) {
      checkValue({ schema: schema.items, root, path: pathOf(path, at), isRequired: true, found }, item);
    }
  }
}

function checkProperties({ schema, root, path, found }: Place, value: Readonly<Record<string, unknown>>): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) ?? false;
    checkValue({ schema: property, root, path: pathOf(path, name), isRequired, found }, value[name]);
  }
}

function choiceProblem(choices: readonly unknown[], value: unknown): Problem | undefined {
  const text = JSON.stringify(value);
  return choices.some((choice) => JSON.stringify(choice) === text) ? undefined : { kind: "choice" };
}

function plainProblem(kind: string, schema: JsonSchema, value: unknown): Problem | undefined {
  switch (kind) {
    case "text":
      return typeof value === "string" ? textProblem(schema, value) : { kind: "type" };
    case "number":
    case "integer":
      if (typeof value !== "number" || (kind === "integer" && !Number.isInteger(value))) return { kind: "type" };
      return numberProblem(schema, value);
    case "boolean":
      return typeof value === "boolean" ? undefined : { kind: "type" };
    case "list":
      return Array.isArray(value) ? listProblem(schema, value.length) : { kind: "type" };
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : { kind: "type" };
    default:
      return undefined;
  }
}

function textProblem({ minLength = 0, maxLength = Infinity, pattern }: JsonSchema, text: string): Problem | undefined {
  // As zod counts: by UTF-16 units.
  const { length } = text;
  if (length < minLength) return { kind: "short", limit: minLength };
  if (length > maxLength) return { kind: "long", limit: maxLength };
  return pattern === undefined || matches(pattern, text) ? undefined : { kind: "pattern" };
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    // The pattern is written in another dialect: the server decides.
    return true;
  }
}

function numberProblem(schema: JsonSchema, value: number): Problem | undefined {
  const { minimum = -Infinity, maximum = Infinity } = schema;
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  if (value < minimum) return { kind: "min", limit: minimum };
  if (value > maximum) return { kind: "max", limit: maximum };
  if (value <= exclusiveMinimum) return { kind: "above", limit: exclusiveMinimum };
  return value >= exclusiveMaximum ? { kind: "below", limit: exclusiveMaximum } : undefined;
}

function listProblem({ minItems = 0, maxItems = Infinity }: JsonSchema, length: number): Problem | undefined {
  if (length < minItems) return { kind: "few", limit: minItems };
  return length > maxItems ? { kind: "many", limit: maxItems } : undefined;
}

/**
 * The server's refusal, taken apart: `… does not fit its schema: customer.name: too short; amount: …`. Problems of fields
 * that the form does not have are left to the message as a whole.
 */
export function refusedFields(message: string): Problems {
  const issues = /does not fit its schema: (.+)$/s.exec(message)?.[1] ?? "";
  const found = new Map<string, Problem>();
  for (const issue of issues.split("; ")) {
    const [, path, text] = /^([^\s:]+): (.+)$/s.exec(issue) ?? [];
    if (path !== undefined && text !== undefined) found.set(path, { kind: "server", text });
  }
  return found;
}
