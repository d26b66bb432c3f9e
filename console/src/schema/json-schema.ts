/** The parts of JSON Schema (2020-12) that forms are made from; anything else is entered as JSON. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "object" | "list" | "json";

/** A schema without references, and whether null is allowed beside it. */
export interface Field {
  readonly kind: FieldKind;
  readonly schema: JsonSchema;
  readonly choices: readonly unknown[];
  readonly mayBeNull: boolean;
}

const plainKinds: Readonly<Record<string, FieldKind>> = {
  string: "text",
  number: "number",
  integer: "integer",
  boolean: "boolean",
};

/** Follows local references: a schema that refers to itself through nothing else is entered as JSON. */
function followReferences(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let found = schema;
  for (let step = 0; step < 10 && found.$ref !== undefined; step++) {
    const { $ref, ...beside } = found;
    const name = /^#\/\$defs\/(.+)$/.exec($ref)?.[1];
    const target = name === undefined ? $ref === "#" && root : root.$defs?.[decodeURIComponent(name)];
    if (target === undefined || target === false) return {};
    found = { ...target, ...beside };
  }
  if (found.$ref !== undefined) return {};
  const [only, ...others] = found.allOf ?? [];
  return only === undefined || others.length > 0 ? found : { ...followReferences(only, root), ...found };
}

/** The control by which a value of the schema is entered. */
export function fieldOf(schema: JsonSchema, root: JsonSchema): Field {
  const found = followReferences(schema, root);
  const variants = (found.anyOf ?? found.oneOf ?? []).map((each) => followReferences(each, root));
  const others = variants.filter(({ type }) => type !== "null");
  const [only] = others;
  if (only !== undefined && others.length === 1) {
    const { anyOf: _any, oneOf: _one, ...beside } = found;
    const inner = fieldOf({ ...only, ...beside }, root);
    return { ...inner, mayBeNull: inner.mayBeNull || others.length < variants.length };
  }
  const constants = others.filter((each) => "const" in each).map((each) => each.const);
  if (others.length > 0 && constants.length === others.length) {
    return { kind: "choice", schema: found, choices: constants, mayBeNull: others.length < variants.length };
  }
  return plainField(found);
}

function plainField(schema: JsonSchema): Field {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const [type = "", ...more] = types.filter((each) => each !== "null");
  const mayBeNull = types.includes("null");
  const listed = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
  if (listed !== undefined) return { kind: "choice", schema, choices: listed, mayBeNull };
  const field = { schema, choices: [], mayBeNull };
  if (more.length > 0) return { ...field, kind: "json" };
  if (type === "object" && schema.properties !== undefined) return { ...field, kind: "object" };
  if (type === "array" && typeof schema.items === "object") return { ...field, kind: "list" };
  return { ...field, kind: plainKinds[type] ?? "json" };
}

/** The value that a form begins with: defaults, and the objects that are required anyway. */
export function initialValue(schema: JsonSchema, root: JsonSchema, isRequired: boolean): unknown {
  const { kind, schema: found, choices } = fieldOf(schema, root);
  if (found.default !== undefined) return found.default;
  if (isRequired && kind === "choice" && choices.length === 1) return choices[0];
  if (kind !== "object" || !isRequired) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(found.properties ?? {})) {
    const value = initialValue(property, root, found.required?.includes(name) ?? false);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** A schema for what a DAG takes as its input: the start values of its context, any of which a start may replace. */
export function schemaOfContext(context: Readonly<Record<string, unknown>> | undefined): JsonSchema | undefined {
  if (context === undefined || Object.keys(context).length === 0) return undefined;
  const properties = Object.entries(context).map(([name, value]) => [name, { ...typeOf(value), default: value }]);
  return { type: "object", properties: Object.fromEntries(properties) as Record<string, JsonSchema> };
}

function typeOf(value: unknown): JsonSchema {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" ? { type } : {};
}
