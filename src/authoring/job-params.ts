import type { SchemaIssue, SchemaResult, StandardSchema } from "./standard-schema.ts";

/** A job, as far as its parameters are concerned. */
interface WithInput {
  readonly input?: StandardSchema | undefined;
}

/** The result of validating parameters: the value for the job's function, or the issues in one line. */
export type ParamsVerdict =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: string };

/** The check before a task runs. */
export async function validateParams(job: WithInput, params: unknown): Promise<ParamsVerdict> {
  return job.input === undefined ? { ok: true, value: params } : await validate(job.input, params);
}

/** Treats a schema that throws as one that refuses. */
export async function validate(schema: StandardSchema, value: unknown): Promise<ParamsVerdict> {
  try {
    return verdict(await schema["~standard"].validate(value));
  } catch (error) {
    return schemaThrew(error);
  }
}

/**
 * Validates parameters synchronously, while a task is built. `undefined` if the schema is asynchronous; such parameters are
 * validated before their task runs.
 */
export function validateParamsNow(job: WithInput, params: unknown): ParamsVerdict | undefined {
  return validateNow(job.input, params);
}

export function validateNow(schema: StandardSchema | undefined, value: unknown): ParamsVerdict | undefined {
  if (schema === undefined) return { ok: true, value };
  try {
    const result = schema["~standard"].validate(value);
    if (!isPromise(result)) return verdict(result);
    // The result is not awaited; a rejection must not be unhandled.
    Promise.resolve(result).catch(() => undefined);
    return undefined;
  } catch (error) {
    return schemaThrew(error);
  }
}

/** Parses a node's parameters. Text that is not JSON is the parameter itself, as in PowerJob's files; blank text means none. */
export function paramsFromText(text: string | null | undefined): unknown {
  if (text === undefined || text === null || text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function verdict(result: SchemaResult<unknown>): ParamsVerdict {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, issues: result.issues.map(describeIssue).join("; ") };
}

function describeIssue(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

function schemaThrew(error: unknown): ParamsVerdict {
  return { ok: false, issues: `the schema itself failed: ${error instanceof Error ? error.message : String(error)}` };
}

function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof value === "object" && value !== null && "then" in value;
}
