import { preview } from "../base/preview.ts";
import type { SchemaIssue, StandardSchema } from "./standard-schema.ts";

/** A JSON Schema, as far as it is looked at. */
interface JsonSchema {
  readonly $ref?: unknown;
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly additionalProperties?: unknown;
  readonly items?: unknown;
  readonly minItems?: unknown;
  readonly maxItems?: unknown;
  readonly minLength?: unknown;
  readonly maxLength?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly exclusiveMinimum?: unknown;
  readonly exclusiveMaximum?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly allOf?: unknown;
}

/** A schema that refers to itself endlessly is not followed any deeper. */
const depthMax = 100;

/**
 * Makes a Standard Schema of the JSON Schema of a job in another process. It looks at types, values, properties, items,
 * lengths, ranges and combinations; what it does not know it leaves to the worker, which validates again with its own
 * schema. It does not look at `pattern`: a worker's regular expression may take any time.
 */
export function standardSchemaOf(schema: object): StandardSchema {
  return {
    "~standard": {
      version: 1,
      vendor: "heddle",
      validate: (value) => {
        const issues = new Check(schema).issues(schema, value, { path: [], depth: 0 });
        return issues.length === 0 ? { value } : { issues };
      },
      jsonSchema: { input: () => schema as Record<string, unknown> },
    },
  };
}

interface Place {
  readonly path: readonly PropertyKey[];
  readonly depth: number;
}

class Check {
  readonly #root: object;

  constructor(root: object) {
    this.#root = root;
  }

  issues(given: unknown, value: unknown, place: Place): SchemaIssue[] {
    if (given === false) return [{ message: "is not allowed", path: place.path }];
    if (!isRecord(given) || place.depth > depthMax) return [];
    const schema = this.#follow(given);
    const deeper = { ...place, depth: place.depth + 1 };
    const own = [...ownProblems(schema, value)].map((message) => ({ message, path: place.path }));
    if (own.length > 0) return own;
    return [
      ...this.#ofProperties(schema, value, deeper),
      ...this.#ofItems(schema, value, deeper),
      ...this.#ofCombinations(schema, value, deeper),
    ];
  }

  /** Definitions inside the schema are found by their path; others are not known. */
  #follow(schema: JsonSchema): JsonSchema {
    if (typeof schema.$ref !== "string" || !schema.$ref.startsWith("#")) return schema;
    let found: unknown = this.#root;
    for (const part of schema.$ref.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return isRecord(found) ? found : {};
  }

  #ofProperties(schema: JsonSchema, value: unknown, place: Place): SchemaIssue[] {
    if (!isRecord(value)) return [];
    const properties = isRecord(schema.properties) ? schema.properties : {};
    return Object.entries(value).flatMap(([name, each]) => {
      const inner = { ...place, path: [...place.path, name] };
      const part = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
      return this.issues(part, each, inner);
    });
  }

  #ofItems(schema: JsonSchema, value: unknown, place: Place): SchemaIssue[] {
    if (!Array.isArray(value)) return [];
    return value.flatMap((each, index) => this.issues(schema.items, each, { ...place, path: [...place.path, index] }));
  }

  #ofCombinations({ anyOf, oneOf, allOf }: JsonSchema, value: unknown, place: Place): SchemaIssue[] {
    const fitting = (schemas: readonly unknown[]): number =>
      schemas.filter((each) => this.issues(each, value, place).length === 0).length;
    if (Array.isArray(anyOf) && fitting(anyOf) === 0) return [{ message: "fits none of its forms", path: place.path }];
    if (Array.isArray(oneOf) && fitting(oneOf) !== 1)
      return [{ message: "does not fit exactly one of its forms", path: place.path }];
    return Array.isArray(allOf) ? allOf.flatMap((each) => this.issues(each, value, place)) : [];
  }
}

function* ownProblems(schema: JsonSchema, value: unknown): Generator<string> {
  const types = typeof schema.type === "string" ? [schema.type] : Array.isArray(schema.type) ? schema.type : undefined;
  if (types !== undefined && !types.some((type) => isOfType(type, value)))
    yield `must be ${types.join(" or ")}, got ${preview(value)}`;
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => isSame(each, value)))
    yield `must be one of ${schema.enum.map(preview).join(", ")}, got ${preview(value)}`;
  if (schema.const !== undefined && !isSame(schema.const, value))
    yield `must be ${preview(schema.const)}, got ${preview(value)}`;
  if (isRecord(value) && Array.isArray(schema.required)) {
    const missing = schema.required.filter((name) => typeof name === "string" && !Object.hasOwn(value, name));
    if (missing.length > 0) yield `needs ${missing.map(preview).join(", ")}`;
  }
  yield* rangeProblems(schema, value);
}

function* rangeProblems(schema: JsonSchema, value: unknown): Generator<string> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof value === "number") {
    if (typeof minimum === "number" && value < minimum) yield `must be at least ${minimum}, got ${value}`;
    if (typeof maximum === "number" && value > maximum) yield `must be at most ${maximum}, got ${value}`;
    if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
      yield `must be above ${exclusiveMinimum}, got ${value}`;
    if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
      yield `must be below ${exclusiveMaximum}, got ${value}`;
  }
  const isText = typeof value === "string";
  if (!isText && !Array.isArray(value)) return;
  // A length counts code points, an index of a text counts code units.
  const length = isText ? Array.from(value).length : value.length;
  const [min, max] = isText ? [schema.minLength, schema.maxLength] : [schema.minItems, schema.maxItems];
  const unit = isText ? "characters" : "items";
  if (typeof min === "number" && length < min) yield `must have at least ${min} ${unit}, got ${length}`;
  if (typeof max === "number" && length > max) yield `must have at most ${max} ${unit}, got ${length}`;
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
