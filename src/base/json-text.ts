import { EngineError } from "./error.ts";
import { depthMax } from "./json-depth.ts";

/** Depth up to which a value is taken as plain; a deeper one is checked for cycles. */
const plainDepthMax = 100;

/**
 * The value as JSON text; `undefined` stays `undefined`. Throws VALUE_NOT_SERIALIZABLE, naming the part to blame, for
 * what the text would not hold: maps, sets, errors, bytes, promises, functions, NaN and the like. As everywhere in JSON, a
 * property that is `undefined` is left out, in a list it becomes null, and `toJSON` speaks for its object: a Date is text.
 */
export function toJsonText(value: unknown, what: string): string | undefined {
  const problem = isSurelyPlain(value) ? undefined : findProblem(value);
  if (problem !== undefined) throw refusal(what, problem.text, problem.cause);
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw refusal(what, error instanceof Error ? error.message : String(error), error);
  }
}

/** Returns a copy as JSON would restore it, which shares nothing with the original. */
export function copyAsJson(value: unknown, what: string): unknown {
  const text = toJsonText(value, what);
  return text === undefined ? undefined : JSON.parse(text);
}

function refusal(what: string, problem: string, cause?: unknown): EngineError {
  return new EngineError("VALUE_NOT_SERIALIZABLE", `${what} cannot be written as JSON: ${problem}`, { cause });
}

/** A value that throws when read is looked at again, part by part. */
function isSurelyPlain(value: unknown): boolean {
  try {
    return isPlain(value, 0);
  } catch {
    return false;
  }
}

/** Lists, plain objects, texts and numbers all the way down: nearly every value. In one function, it takes a quarter of the time that writing takes. */
function isPlain(value: unknown, depth: number): boolean {
  if (value === null || value === undefined || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth > plainDepthMax) return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (typeof item !== "string" && !isPlain(item, depth + 1)) return false;
    }
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  // Plain objects inherit nothing that the loop would see.
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (typeof part !== "string" && !isPlain(part, depth + 1)) return false;
  }
  return true;
}

interface Problem {
  readonly text: string;
  readonly cause?: unknown;
}

/** Walks the value as `JSON.stringify` does, with a stack of its own: what is nested too deeply for it is no problem here. */
function findProblem(root: unknown): Problem | undefined {
  const stack: Part[] = [{ holder: { "": root }, key: "", path: "" }];
  const ancestors = new Set<unknown>();
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    if ("leave" in part) {
      ancestors.delete(part.leave);
      continue;
    }
    const { path } = part;
    const seen = jsonView(part);
    if ("text" in seen) return seen;
    const { value } = seen;
    const loss = lossOf(value);
    if (loss !== undefined) return { text: loss.replace(" @", where(path)) };
    if (typeof value !== "object" || value === null) continue;
    if (ancestors.has(value)) return { text: `a circle${where(path)}, which refers back to an object that holds it` };
    ancestors.add(value);
    // A toJSON may give ever new objects, without an end.
    if (ancestors.size > depthMax) return { text: `it is nested deeper than ${depthMax} levels` };
    stack.push({ leave: value });
    const isList = Array.isArray(value);
    for (const key of Object.keys(value).toReversed()) {
      stack.push({ holder: value, key, path: extendPath(path, key, isList) });
    }
  }
  return undefined;
}

type Part = { readonly holder: object; readonly key: string; readonly path: string } | { readonly leave: unknown };

/** Reads the value as JSON does: whatever the getter gives, and then the value's own `toJSON`. */
function jsonView({ holder, key, path }: Exclude<Part, { leave: unknown }>): { readonly value: unknown } | Problem {
  let what = "what is read";
  try {
    const value = (holder as Record<string, unknown>)[key];
    if (!hasToJson(value)) return { value };
    // JSON makes null of an invalid date.
    if (value instanceof Date && Number.isNaN(value.getTime())) return { value };
    what = "toJSON";
    return { value: value.toJSON(key) };
  } catch (error) {
    return { text: `${what}${where(path)} threw ${String(error)}`, cause: error };
  }
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}

/** Describes why JSON would lose the value itself, with @ for its place; undefined if nothing is lost. */
function lossOf(value: unknown): string | undefined {
  switch (typeof value) {
    case "bigint":
      return "a BigInt @";
    case "function":
    case "symbol":
      return `a ${typeof value} @`;
    case "number":
      return Number.isFinite(value) ? undefined : `${value} @, for which JSON has no number`;
    case "object":
      return value === null ? undefined : lossOfObject(value);
    default:
      return undefined;
  }
}

/** Objects around a value that JSON takes for the value itself, such as `new Number(1)`. */
const boxes: ReadonlySet<string> = new Set(
  ["Number", "String", "Boolean", "BigInt", "Symbol"].map((name) => `[object ${name}]`),
);

function lossOfObject(value: object): string | undefined {
  if (value instanceof Promise) return "a promise @: did you forget await?";
  if (value instanceof Date) return "an invalid Date @";
  if (value instanceof Error) return "an Error @: give its message, or throw it";
  if (ArrayBuffer.isView(value)) return `bytes @ (${className(value)}): give them as text, such as base64`;
  if (boxes.has(Object.prototype.toString.call(value))) return lossOf(value.valueOf());
  if (Array.isArray(value)) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined;
  const isLost = value instanceof Map || value instanceof Set || Object.keys(value).length === 0;
  return isLost ? `a ${className(value)} @, of which JSON would keep nothing` : undefined;
}

function className(value: object): string {
  const { name } = value.constructor ?? {};
  return typeof name === "string" && name !== "" ? name : "class";
}

function extendPath(path: string, key: string, inList: boolean): string {
  if (inList) return `${path}[${key}]`;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function where(path: string): string {
  return path === "" ? "" : ` at ${path}`;
}
