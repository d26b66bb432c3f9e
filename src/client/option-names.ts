import { didYouMean } from "../base/closest-name.ts";
import { HeddleClientError } from "./client-error.ts";

/**
 * Refuses unknown option names, because a misspelt option would silently be a default. The compiler checks
 * that `known` has every name of the options' type.
 */
export function checkOptionNames<T extends object>(
  owner: string,
  given: T,
  known: Readonly<Record<Names<T>, true>>,
): void {
  if (typeof given !== "object" || given === null) throw invalidOption(`${owner} takes its options as an object`);
  const names = Object.keys(known);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const hint = didYouMean(unknown, names) || `; there ${names.length === 1 ? "is" : "are"} ${names.join(", ")}`;
  throw invalidOption(`${owner}: its options have no ${JSON.stringify(unknown)}${hint}`);
}

/** The names of all members of a union of option types. */
type Names<T> = T extends unknown ? keyof T : never;

export function invalidOption(message: string): HeddleClientError {
  return new HeddleClientError(message, { code: "OPTION_INVALID" });
}
