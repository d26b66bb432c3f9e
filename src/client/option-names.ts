import { didYouMean } from "../base/closest-name.ts";
import { HeddleClientError } from "./client-error.ts";

/**
 * Refuses options with a name that is not among these: a misspelt one would be a default in disguise. The compiler sees to
 * it that `known` has every name of the options' type.
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

/** Of whichever of several kinds of options it is. */
type Names<T> = T extends unknown ? keyof T : never;

export function invalidOption(message: string): HeddleClientError {
  return new HeddleClientError(message, { code: "OPTION_INVALID" });
}
