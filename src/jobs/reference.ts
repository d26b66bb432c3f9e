import { z } from "zod";
import type { JobContext } from "../authoring/job.ts";
import { preview } from "../base/preview.ts";
import { JobFailure } from "./job-failure.ts";
import type { Redactor } from "./redactor.ts";
import { secretOfFile, secretOfVariable, type SecretRules } from "./secret-rules.ts";

const name = z.string().min(1).max(500);
const path = z.string().min(1).max(500).optional();

const reference = z.union([
  z.strictObject({ env: name }),
  z.strictObject({ file: z.string().min(1).max(4096) }),
  z.strictObject({ context: name, path }),
  z.strictObject({ output: name, path }),
]);

/**
 * A value that the worker looks up when the job runs: a secret (a variable or a file of the worker), a key of the instance's
 * context, or the output of a task before; `path` leads into that, such as `rows.0.id`.
 */
export type Reference = z.output<typeof reference>;

const referenceHelp =
  "or a reference: { env } or { file } for a secret of the worker, { context } or { output } for a value of the instance";

/** A text, or a reference to one. */
export const textOrReference = z.union([z.string(), reference]).meta({ description: `Text, ${referenceHelp}.` });

/** Any JSON value; an object of the form of a reference is one. */
export const valueOrReference = z
  .union([reference, z.string(), z.number(), z.boolean(), z.null(), z.array(z.json()), z.record(z.string(), z.json())])
  .meta({ description: `Any JSON value, ${referenceHelp}.` });

export type TextOrReference = z.output<typeof textOrReference>;
export type ValueOrReference = z.output<typeof valueOrReference>;

/** Looks up references. Secrets are made known to the redactor before anybody sees them. */
export class References {
  readonly #rules: SecretRules;
  readonly #ctx: Pick<JobContext, "context" | "outputs">;
  readonly #redactor: Redactor;

  constructor(rules: SecretRules, ctx: Pick<JobContext, "context" | "outputs">, redactor: Redactor) {
    this.#rules = rules;
    this.#ctx = ctx;
    this.#redactor = redactor;
  }

  async text(given: TextOrReference): Promise<string> {
    const value = typeof given === "string" ? given : await this.#follow(given);
    return typeof value === "string" ? value : JSON.stringify(value);
  }

  async value(given: ValueOrReference): Promise<unknown> {
    return isReference(given) ? await this.#follow(given) : given;
  }

  async texts(given: Readonly<Record<string, TextOrReference>>): Promise<Record<string, string>> {
    const entries = Object.entries(given).map(async ([key, each]) => [key, await this.text(each)] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  async #follow(given: Reference): Promise<unknown> {
    if ("env" in given) return this.#keep(secretOfVariable(this.#rules, given.env));
    if ("file" in given) return this.#keep(await secretOfFile(this.#rules, given.file));
    const [where, key, all] =
      "context" in given
        ? (["context key", given.context, this.#ctx.context] as const)
        : (["output of task", given.output, this.#ctx.outputs] as const);
    return valueAt(all, [key, ...(given.path?.split(".") ?? [])], `${where} ${preview(key)}`);
  }

  #keep(secret: string): string {
    this.#redactor.add(secret);
    return secret;
  }
}

/** A reference to a secret, as opposed to a value of the instance. */
export function isSecret(given: unknown): boolean {
  return isReference(given) && ("env" in given || "file" in given);
}

function isReference(given: unknown): given is Reference {
  return reference.safeParse(given).success;
}

function valueAt(root: unknown, parts: readonly string[], what: string): unknown {
  let value = root;
  for (const part of parts) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) {
      const message = `there is no ${what}${parts.length > 1 ? ` with the path ${parts.slice(1).join(".")}` : ""}`;
      throw new JobFailure("ParamsRefused", message, { retryable: false });
    }
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return value;
}
