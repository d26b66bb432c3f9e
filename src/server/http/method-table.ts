import type { FastifyInstance } from "fastify";
import { HttpError } from "../request/http-error.ts";

interface KnownPath {
  /** Path segments; a parameter begins with a colon. */
  readonly pattern: readonly string[];
  readonly methods: Set<string>;
}

/** The methods of each path, for the refusal of other methods. */
export class MethodTable {
  readonly #paths = new Map<string, KnownPath>();

  /** Records the routes that are added from now on. */
  constructor(app: FastifyInstance) {
    app.addHook("onRoute", ({ url, method }) => {
      const known = this.#paths.get(url) ?? { pattern: url.split("/"), methods: new Set() };
      for (const each of [method].flat()) known.methods.add(each);
      this.#paths.set(url, known);
    });
  }

  /** `METHOD_NOT_ALLOWED` or `NOT_FOUND`. */
  refusalOf(method: string, url: string): HttpError {
    const [path = ""] = url.split("?", 1);
    const allowed = new Set<string>();
    const parts = path.split("/");
    for (const { pattern, methods } of this.#paths.values()) {
      if (fits(pattern, parts)) for (const each of methods) allowed.add(each);
    }
    if (allowed.size === 0 || allowed.has(method)) {
      return new HttpError("NOT_FOUND", `there is nothing at ${method} ${path}; /api/docs lists what there is`);
    }
    const allow = [...allowed].toSorted().join(", ");
    return new HttpError("METHOD_NOT_ALLOWED", `${path} takes ${allow}, not ${method}`, { headers: { allow } });
  }
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, at) => (part.startsWith(":") ? parts[at] !== "" : part === parts[at]))
  );
}
