import type { z } from "zod";
import { didYouMean } from "../../base/closest-name.ts";
import { EngineError } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import { keyNames } from "./config-key.ts";

type Issue = z.core.$ZodIssue;

/** The source of each key. */
export interface Where {
  readonly origins: ReadonlyMap<string, string>;
  /** The source of problems without a key. */
  readonly whole: string;
}

/** One sentence for each invalid key: its source, and the allowed values. */
export function sentences(issue: Issue, given: unknown, where: Where): string[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const full = [...path, key].join(".");
      return `${full} (${originOf([...path, key], where)}) is not a setting${didYouMean(key, namesAt(path))}`;
    });
  }
  const got = at(given, path);
  const problem =
    got === undefined ? "is missing" : `${allowedText(issue)}${isSecret(path) ? "" : `, got ${preview(got)}`}`;
  return [`${path.join(".")} (${originOf(path, where)}) ${problem}`];
}

/** Passwords, hashes and webhook URLs are not repeated in messages. */
function isSecret([first = "", ...rest]: readonly string[]): boolean {
  if (first === "cluster") return rest[0] === "bus";
  return first === "storage" || (["tokens", "alerts"].includes(first) && rest.length > 0);
}

function allowedText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `must be ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}${unit(issue.origin)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unit(issue.origin)}`;
    case "invalid_type":
      return `must be ${typeWords[issue.expected] ?? issue.expected}`;
    case "invalid_format":
      return issue.format === "url" ? "must be an http:// or https:// address" : issue.message;
    default:
      return issue.message;
  }
}

const typeWords: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "text",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function unit(origin: string): string {
  return origin === "string" ? " characters long" : origin === "array" ? " entries long" : "";
}

/** The source of the nearest enclosing key. */
function originOf(path: readonly string[], { origins, whole }: Where): string {
  for (let length = path.length; length > 0; length--) {
    const origin = origins.get(path.slice(0, length).join("."));
    if (origin !== undefined) return origin;
  }
  return whole;
}

function namesAt(path: readonly string[]): string[] {
  const prefix = path.length === 0 ? "" : `${path.join(".")}.`;
  return keyNames.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length).split(".")[0] ?? "");
}

export function at(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string, unknown>)[part];
  }
  return found;
}

export function unusable(problems: readonly string[]): EngineError {
  const [only = "", ...others] = problems;
  const text = others.length === 0 ? only : problems.map((problem) => `\n  - ${problem}`).join("");
  return new EngineError(
    "OPTION_INVALID",
    `the configuration cannot be used: ${text}\nAll settings are in docs/configuration.md of the heddle package.`,
  );
}
