import { createHash } from "node:crypto";

/** Characters of SHA-256 in hex: 128 bits, so that no two contents ever meet by chance. */
const hashLength = 32;

/** A hash of what the value says as JSON; the order of keys says nothing. */
export function contentHash(value: unknown): string {
  return textHash(canonicalJson(value));
}

export function textHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, hashLength);
}

/** JSON text with the keys of every object in one order. The value is plain data, as `JSON.parse` gives it. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(withSortedKeys(value)) ?? "null";
}

function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, withSortedKeys(value[key])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
