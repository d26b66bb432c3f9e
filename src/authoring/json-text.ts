import { EngineError } from "../base/error.ts";

/**
 * The value as JSON text; `undefined` stays `undefined`. Throws VALUE_NOT_SERIALIZABLE, naming the part to blame, for
 * what JSON cannot hold. As everywhere in JSON, functions and `undefined` inside an object are left out and NaN becomes null.
 */
export function toJsonText(value: unknown, what: string): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    const problem = findProblem(value) ?? (error instanceof Error ? error.message : String(error));
    throw new EngineError("VALUE_NOT_SERIALIZABLE", `${what} cannot be written as JSON: ${problem}`, { cause: error });
  }
  if (text === undefined && (typeof value === "function" || typeof value === "symbol")) {
    throw new EngineError("VALUE_NOT_SERIALIZABLE", `${what} cannot be written as JSON: it is a ${typeof value}`);
  }
  return text;
}

/** A copy as JSON would bring it back: nothing shared with the original. */
export function copyAsJson(value: unknown, what: string): unknown {
  const text = toJsonText(value, what);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Walks the value as `JSON.stringify` does, with a stack of its own: what is nested too deeply for it is no problem here. */
function findProblem(root: unknown): string | undefined {
  const stack: Part[] = [{ value: root, key: "", path: "" }];
  const ancestors = new Set<unknown>();
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    if ("leave" in part) {
      ancestors.delete(part.leave);
      continue;
    }
    const { path } = part;
    const seen = jsonView(part);
    if ("threw" in seen) return `toJSON${where(path)} threw ${seen.threw}`;
    const { value } = seen;
    if (typeof value === "bigint") return `a BigInt${where(path)}`;
    if (typeof value !== "object" || value === null) continue;
    if (ancestors.has(value)) return `a circle${where(path)}, which refers back to an object that holds it`;
    ancestors.add(value);
    stack.push({ leave: value });
    const isList = Array.isArray(value);
    for (const [key, child] of Object.entries(value).toReversed()) {
      stack.push({ value: child, key, path: extendPath(path, key, isList) });
    }
  }
  return undefined;
}

type Part = { value: unknown; key: string; path: string } | { leave: unknown };

/** What JSON sees in place of the value: whatever its `toJSON` gives. */
function jsonView(part: { value: unknown; key: string }): { value: unknown } | { threw: string } {
  const { value, key } = part;
  if (!hasToJson(value)) return { value };
  try {
    return { value: value.toJSON(key) };
  } catch (error) {
    return { threw: String(error) };
  }
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}

function extendPath(path: string, key: string, inList: boolean): string {
  if (inList) return `${path}[${key}]`;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function where(path: string): string {
  return path === "" ? "" : ` at ${path}`;
}
