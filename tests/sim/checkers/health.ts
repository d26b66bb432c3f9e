import type { Checker } from "./checker.ts";

/** What an engine says only when one of its own invariants is broken. */
const alarming: readonly RegExp[] = [/internal error/, /failed to take its report/, /could not be marked/];

/** No engine says that something is wrong with itself. */
export const checkHealth: Checker = ({ logLines }) =>
  logLines.flatMap(({ life, level, message, fields, at }) => {
    if (level !== "error" || !alarming.some((pattern) => pattern.test(message))) return [];
    return [`life ${life} says at ${at.toFixed(0)}: ${message}: ${JSON.stringify(fields)}`];
  });
