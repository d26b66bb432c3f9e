import type { StandardSchema } from "./standard-schema.ts";

/** The JSON Schema of an input; `undefined` if the library has none, or none for this type, such as a Date. */
export function inputSchemaOf(schema: StandardSchema | undefined): Record<string, unknown> | undefined {
  try {
    const found = schema?.["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
    // A round trip through JSON removes values that JSON cannot represent.
    return found && (JSON.parse(JSON.stringify(found)) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}
