import { readFileSync } from "node:fs";
import { didYouMean } from "../base/closest-name.ts";
import { messageOf } from "../base/error.ts";
import { UsageError } from "./exit-code.ts";

/** Parses a JSON option; `@file` reads it from a file, `-` from standard input. */
export function jsonGiven(option: string, text: string): unknown {
  const source = text === "-" ? readGiven(option, 0) : text.startsWith("@") ? readGiven(option, text.slice(1)) : text;
  try {
    return JSON.parse(source) as unknown;
  } catch (error) {
    throw new UsageError(`${option} must be JSON, @file or -: ${messageOf(error)}`);
  }
}

export function readGiven(option: string, file: string | 0): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${option} cannot be read: ${messageOf(error)}`);
  }
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as 500ms, 10s, 5m, 2h or 1d, to milliseconds. */
export function durationGiven(option: string, text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = unitMs[unit];
  if (amount !== undefined && ms !== undefined) return Number(amount) * ms;
  throw new UsageError(`${option} must be a time such as 500ms, 10s, 5m, 2h or 1d, got "${text}"`);
}

/** Parses a date or epoch milliseconds. */
export function timeGiven(option: string, text: string): number {
  const at = /^\d{10,}$/.test(text) ? Number(text) : Date.parse(text);
  if (!Number.isNaN(at)) return at;
  throw new UsageError(`${option} must be a date such as 2026-03-01T06:00:00Z, or epoch milliseconds, got "${text}"`);
}

/** Checks that the text is one of the choices; the error suggests the closest one. */
export function choiceGiven<Choice extends string>(option: string, text: string, choices: readonly Choice[]): Choice {
  const chosen = choices.find((choice) => choice === text);
  if (chosen !== undefined) return chosen;
  throw new UsageError(`${option} must be one of ${choices.join(", ")}, got "${text}"${didYouMean(text, choices)}`);
}

export function countGiven(option: string, text: string, most = 1_000_000): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new UsageError(`${option} must be a whole number from 1 to ${most}, got "${text}"`);
}
