import { type LogFields, type Logger, silentLogger } from "./logger.ts";

/**
 * A log method with the signature of pino: `log.info("copied")`, `log.info({ rows: 12 }, "copied")`, `log.warn(error)`.
 */
export interface LogMethod {
  (message: string): void;
  (error: Error, message?: string): void;
  (fields: LogFields, message?: string): void;
}

/** The logger that jobs and workflow code see as `ctx.log`. */
export interface ContextLog {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
}

/** The level of a log line. */
export type LogLevel = keyof ContextLog;

/** Creates a context log that reduces every form of a call to fields and a message. */
export function contextLog(write: (level: LogLevel, fields: LogFields, message: string) => void): ContextLog {
  const method =
    (level: LogLevel): LogMethod =>
    (what: unknown, message?: unknown) => {
      const { fields, text } = partsOf(what, message);
      write(level, fields, text);
    };
  return { debug: method("debug"), info: method("info"), warn: method("warn"), error: method("error") };
}

/** Creates a context log that writes to a logger. */
export function contextLogOf(logger: Logger): ContextLog {
  return contextLog((level, fields, message) => logger[level](fields, message));
}

/** Logs nothing, for code that is replayed: its lines were logged when it ran first. */
export const silentContextLog: ContextLog = contextLogOf(silentLogger);

function partsOf(what: unknown, message: unknown): { fields: LogFields; text: string } {
  const given = message === undefined ? undefined : textOf(message);
  if (what instanceof Error) return { fields: { error: what.message, stack: what.stack }, text: given ?? what.message };
  if (typeof what === "object" && what !== null) return { fields: what as LogFields, text: given ?? "" };
  // JavaScript users may write several values, as for the console.
  return { fields: {}, text: given === undefined ? textOf(what) : `${textOf(what)} ${given}` };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
}
