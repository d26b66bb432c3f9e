import type { LogFields, Logger } from "../base/logger.ts";

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: LogFields;
  readonly message: string;
}

/** A logger that keeps its lines. */
export class LogBook implements Logger {
  readonly lines: LogLine[] = [];

  debug(fields: LogFields, message: string): void {
    this.lines.push({ level: "debug", fields, message });
  }

  info(fields: LogFields, message: string): void {
    this.lines.push({ level: "info", fields, message });
  }

  warn(fields: LogFields, message: string): void {
    this.lines.push({ level: "warn", fields, message });
  }

  error(fields: LogFields, message: string): void {
    this.lines.push({ level: "error", fields, message });
  }

  messages(level: keyof Logger): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  find(level: keyof Logger, message: RegExp): LogLine | undefined {
    return this.lines.find((line) => line.level === level && message.test(line.message));
  }
}
