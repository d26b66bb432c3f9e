import type { LogFields, Logger } from "../base/logger.ts";

/** Default logger: warnings and errors, one JSON object a line, on standard error. */
export const stderrLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields, message) => write("warn", fields, message),
  error: (fields, message) => write("error", fields, message),
};

function write(level: string, fields: LogFields, message: string): void {
  const line = JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }, readable);
  process.stderr.write(`${line}\n`);
}

function readable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;
}
