import type { LoggedLine } from "../dispatch/session-message.ts";
import { logMessageLengthMax } from "../dispatch/session-schema.ts";
import type { TaskLogLine } from "../dispatch/task-log.ts";
import { writableFields } from "./writable-fields.ts";

/** Prepares a line for the member, which refuses long ones. Jobs written in JavaScript may pass an array as fields. */
export function loggedLine({ attemptId, at, level, message, fields }: TaskLogLine): LoggedLine {
  const named = Array.isArray(fields) ? Object.fromEntries(fields.entries()) : fields;
  return { attemptId, at, level, message: message.slice(0, logMessageLengthMax), fields: writableFields(named) };
}
