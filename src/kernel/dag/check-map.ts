import { preview } from "../../base/preview.ts";

/** Limit of items of one map under way at a time: they are scheduled in one event. */
const concurrencyMax = 10_000;

const sharePattern = /^(100|\d{1,2}(\.\d{1,3})?)%$/;

/** Says what is wrong with the settings of a map; undefined if nothing is. */
export function mapProblem(map: unknown): string | undefined {
  if (typeof map !== "object" || map === null) return `map must be an object, got ${preview(map)}`;
  const { items, concurrency, failFast, tolerateFailures } = map as Readonly<Record<string, unknown>>;
  if (!Array.isArray(items) && (typeof items !== "string" || items.trim() === ""))
    return `map.items must be a list, or the text of an expression, got ${preview(items)}`;
  if (concurrency !== undefined && !isWithin(concurrency, 1, concurrencyMax))
    return `map.concurrency must be a whole number from 1 to ${concurrencyMax}, got ${preview(concurrency)}`;
  if (failFast !== undefined && typeof failFast !== "boolean")
    return `map.failFast must be true or false, got ${preview(failFast)}`;
  if (tolerateFailures !== undefined && !isTolerance(tolerateFailures))
    return `map.tolerateFailures must be a whole number or a share such as "10%", got ${preview(tolerateFailures)}`;
  return undefined;
}

function isTolerance(value: unknown): boolean {
  return typeof value === "string" ? sharePattern.test(value) : isWithin(value, 0, Number.MAX_SAFE_INTEGER);
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** PowerJob's execution modes that a node with items may name; those of others run their job once. */
const mapTypes: readonly unknown[] = [4, "MAP"];
const singleTypes: readonly unknown[] = [1, "STANDALONE"];

/** Says why an execution mode does not fit its node; undefined if it does. */
export function executeTypeProblem(executeType: unknown, hasMap: boolean): string | undefined {
  if ((executeType ?? null) === null) return undefined;
  if (hasMap)
    return mapTypes.includes(executeType)
      ? undefined
      : `executeType of a map must be "MAP" (4), got ${preview(executeType)}`;
  if (mapTypes.includes(executeType)) return "a map needs its items: map.items";
  if (singleTypes.includes(executeType)) return undefined;
  return `executeType must be "STANDALONE" (1) or "MAP" (4), got ${preview(executeType)}`;
}
