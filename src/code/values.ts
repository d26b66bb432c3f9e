import { type ParamsVerdict, validate } from "../authoring/job-params.ts";
import type { StandardSchema } from "../authoring/standard-schema.ts";
import { toJsonText } from "../base/json-text.ts";
import { EngineError } from "../base/error.ts";
import { utf8Length } from "../base/utf8.ts";
import { payloadBytesMax } from "../kernel/payload.ts";

// Values on their way into and out of the code of workflows, where they are JSON text.

export function parseOptional(text: string | undefined): unknown {
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** JSON text, unless it is too large to be kept. `VALUE_NOT_SERIALIZABLE`, `OUTPUT_TOO_LARGE`. */
export function textOf(value: unknown, what: string, bytesMax = payloadBytesMax): string | undefined {
  const text = toJsonText(value, what);
  // A character takes three bytes at most; a pair of two takes four.
  if (text === undefined || text.length * 3 <= bytesMax) return text;
  const bytes = utf8Length(text);
  if (bytes <= bytesMax) return text;
  throw new EngineError("OUTPUT_TOO_LARGE", `${what} takes ${bytes} bytes; at most ${bytesMax} are allowed`);
}

/** `INPUT_INVALID`. */
export async function validateValue(schema: StandardSchema, value: unknown, what: string): Promise<unknown> {
  return requireValid(await validate(schema, value), what);
}

export function requireValid(verdict: ParamsVerdict, what: string): unknown {
  if (verdict.ok) return verdict.value;
  throw new EngineError("INPUT_INVALID", `${what} does not fit its schema: ${verdict.issues}`);
}
