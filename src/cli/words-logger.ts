import type { LogFields, Logger } from "../base/logger.ts";
import { type Colour, coloursFor } from "./colour.ts";
import { oneLine } from "./table.ts";

const levels = ["debug", "info", "warn", "error"] as const;
const ofLevel: Readonly<Record<(typeof levels)[number], Colour>> = {
  debug: "grey",
  info: "blue",
  warn: "yellow",
  error: "red",
};

/** A logger that writes readable lines to standard error. */
export function wordsLogger(least: (typeof levels)[number] | "silent"): Logger {
  const colour = coloursFor(process.stderr);
  const from = least === "silent" ? levels.length : levels.indexOf(least);
  const writer = (level: (typeof levels)[number]) => {
    if (levels.indexOf(level) < from) return () => undefined;
    return (fields: LogFields, message: string): void => {
      const rest = Object.keys(fields).length === 0 ? "" : ` ${colour("grey", oneLine(JSON.stringify(fields)))}`;
      process.stderr.write(`${colour(ofLevel[level], level)} ${oneLine(message)}${rest}\n`);
    };
  };
  return { debug: writer("debug"), info: writer("info"), warn: writer("warn"), error: writer("error") };
}
