import { inspect } from "node:util";
import type { LogFields } from "../base/logger.ts";

/** Fields that cannot be written as JSON are written as they would be printed. */
export function writableFields(fields: LogFields): LogFields {
  try {
    JSON.stringify(fields);
    return fields;
  } catch {
    return printedFields(fields);
  }
}

export function printedFields(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, inspect(value)] as const));
}
