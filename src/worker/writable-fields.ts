import { inspect } from "node:util";
import { isTooDeep } from "../base/json-depth.ts";
import type { LogFields } from "../base/logger.ts";

/** Fields with a longer JSON text are replaced by printed text, which is shorter. */
const textLengthMax = 65_536;
const fieldsMax = 1000;

/** Replaces fields that cannot be sent as JSON by printed text. */
export function writableFields(fields: LogFields): LogFields {
  try {
    const text = JSON.stringify(fields);
    if (text.length <= textLengthMax && !isTooDeep(text)) return fields;
  } catch {
    // The value cannot be written as JSON: a circle, a BigInt, or a toJSON that throws.
  }
  return printedFields(Object.fromEntries(Object.entries(fields).slice(0, fieldsMax)));
}

export function printedFields(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, inspect(value)] as const));
}
