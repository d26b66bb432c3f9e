import type { LoggedLine } from "../dispatch/session-message.ts";
import { logMessageLengthMax } from "../dispatch/session-schema.ts";
import type { TaskLogLine } from "../dispatch/task-log.ts";
import { writableFields } from "./writable-fields.ts";

/** A line as it is sent to the member, which refuses one that is too long. Jobs written in JavaScript may log a list. */
export function loggedLine({ attemptId, at, level, message, fields }: TaskLogLine): LoggedLine {
  const named = Array.isArray(fields) ? Object.fromEntries(fields.entries()) : fields;
  return { attemptId, at, level, message: message.slice(0, logMessageLengthMax), fields: writableFields(named) };
}
