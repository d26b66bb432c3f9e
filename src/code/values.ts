import { type ParamsVerdict, validate } from "../authoring/job-params.ts";
import type { StandardSchema } from "../authoring/standard-schema.ts";
import { EngineError } from "../base/error.ts";

// Values on their way into and out of the code of workflows, where they are JSON text.

export function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** `INPUT_INVALID`. */
export async function fitting(schema: StandardSchema, value: unknown, what: string): Promise<unknown> {
  return accepted(await validate(schema, value), what);
}

export function accepted(verdict: ParamsVerdict, what: string): unknown {
  if (verdict.ok) return verdict.value;
  throw new EngineError("INPUT_INVALID", `${what} does not fit its schema: ${verdict.issues}`);
}
