import { isTooDeep } from "../base/json-depth.ts";
import { preview } from "../base/preview.ts";
import { utf8Length } from "../base/utf8.ts";

/**
 * Checks a value that came from another process. Returns undefined if the value fits; otherwise the path to the part that
 * does not, and what it must be. The engine validates with these instead of a package, because embedding it loads none.
 */
export type Schema = (value: unknown) => string | undefined;

/** A schema for every field of the type, so that the compiler finds a field without one. */
export type Fields<T> = { readonly [Name in keyof T]-?: Schema };

export const boolean: Schema = (value) => (typeof value === "boolean" ? undefined : mustBe("true or false", value));

/** Refuses fields that the type does not have. */
export function object<T>(fields: Fields<T>): Schema {
  const schemas = new Map<string, Schema>(Object.entries<Schema>(fields));
  return (value) => {
    if (!isRecord(value)) return mustBe("an object", value);
    for (const [name, schema] of schemas) {
      const problem = schema(Object.hasOwn(value, name) ? value[name] : undefined);
      if (problem !== undefined) return `.${name}${problem}`;
    }
    const unknown = Object.keys(value).find((name) => !schemas.has(name));
    return unknown === undefined ? undefined : ` has an unknown field ${preview(unknown)}`;
  };
}

export function optional(schema: Schema): Schema {
  return (value) => (value === undefined ? undefined : schema(value));
}

export function nullable(schema: Schema): Schema {
  return (value) => (value === null ? undefined : schema(value));
}

export function literal(expected: string): Schema {
  return (value) => (value === expected ? undefined : mustBe(preview(expected), value));
}

export function oneOf(...words: readonly string[]): Schema {
  return (value) =>
    words.some((word) => word === value) ? undefined : mustBe(`one of ${words.map(preview).join(", ")}`, value);
}

/** Chooses the schema by the value of one field. */
export function taggedUnion(tag: string, variants: Readonly<Record<string, Schema>>): Schema {
  const schemas = new Map(Object.entries(variants));
  const known = `one of ${[...schemas.keys()].map(preview).join(", ")}`;
  return (value) => {
    if (!isRecord(value)) return mustBe("an object", value);
    const name = Object.hasOwn(value, tag) ? value[tag] : undefined;
    const schema = typeof name === "string" ? schemas.get(name) : undefined;
    return schema === undefined ? `.${tag}${mustBe(known, name)}` : schema(value);
  };
}

export function text({ min = 0, max }: { readonly min?: number; readonly max: number }): Schema {
  return (value) =>
    typeof value === "string" && value.length >= min && value.length <= max
      ? undefined
      : mustBe(`text of ${min} to ${max} characters`, value);
}

/** Text that matches the pattern, which the message describes in words. */
export function textLike(pattern: RegExp, description: string): Schema {
  return (value) => (typeof value === "string" && pattern.test(value) ? undefined : mustBe(description, value));
}

/** JSON text that is complete, not nested too deeply, and within the limit. */
export function jsonText({ bytesMax }: { readonly bytesMax: number }): Schema {
  return (value) => {
    if (typeof value !== "string") return mustBe("JSON text", value);
    const bytes = utf8Length(value);
    if (bytes > bytesMax) return ` has ${bytes} bytes, more than the ${bytesMax} allowed`;
    if (isTooDeep(value)) return " is nested too deeply";
    return value.isWellFormed() && isJson(value) ? undefined : mustBe("JSON text", value);
  };
}

export function integer({
  min,
  max = Number.MAX_SAFE_INTEGER,
}: {
  readonly min: number;
  readonly max?: number;
}): Schema {
  return (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
      ? undefined
      : mustBe(`a whole number from ${min} to ${max}`, value);
}

export function number({ min, max }: { readonly min: number; readonly max: number }): Schema {
  return (value) =>
    typeof value === "number" && value >= min && value <= max
      ? undefined
      : mustBe(`a number from ${min} to ${max}`, value);
}

export function list(item: Schema, { max }: { readonly max: number }): Schema {
  return (value) => {
    if (!Array.isArray(value)) return mustBe("a list", value);
    if (value.length > max) return ` has ${value.length} items, more than the ${max} allowed`;
    for (const [index, each] of value.entries()) {
      const problem = item(each);
      if (problem !== undefined) return `[${index}]${problem}`;
    }
    return undefined;
  };
}

/** An object with keys of the sender's choice. */
export function record(item: Schema, { max }: { readonly max: number }): Schema {
  return (value) => {
    if (!isRecord(value)) return mustBe("an object", value);
    const entries = Object.entries(value);
    if (entries.length > max) return ` has ${entries.length} keys, more than the ${max} allowed`;
    for (const [key, each] of entries) {
      const problem = item(each);
      if (problem !== undefined) return `[${preview(key)}]${problem}`;
    }
    return undefined;
  };
}

export function mustBe(expected: string, value: unknown): string {
  return ` must be ${expected}, got ${value === undefined ? "nothing" : preview(value)}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJson(given: string): boolean {
  try {
    JSON.parse(given);
    return true;
  } catch {
    return false;
  }
}
