import { inspect } from "node:util";
import { isTooDeep } from "../base/json-depth.ts";
import type { LogFields } from "../base/logger.ts";

/** Longer fields are printed instead, which shortens each of them. */
const textLengthMax = 65_536;
const fieldsMax = 1000;

/** Fields that cannot be sent as JSON are sent as they would be printed. */
export function writableFields(fields: LogFields): LogFields {
  try {
    const text = JSON.stringify(fields);
    if (text.length <= textLengthMax && !isTooDeep(text)) return fields;
  } catch {
    // Not writable as JSON: a circle, a BigInt, or a toJSON that throws.
  }
  return printedFields(Object.fromEntries(Object.entries(fields).slice(0, fieldsMax)));
}

export function printedFields(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, inspect(value)] as const));
}
