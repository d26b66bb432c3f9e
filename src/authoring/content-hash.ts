import { createHash } from "node:crypto";

/** Characters of SHA-256 in hex: 128 bits, so that no two contents ever meet by chance. */
const hashLength = 32;

const word = /^\w+$/;

const nothing: ReadonlySet<string> = new Set();

export function textHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, hashLength);
}

/**
 * JSON text with the keys of every object in one order, and without some of the outermost ones. The value is plain data,
 * as `JSON.parse` gives it. Written in one go, with few calls: a definition may have a hundred thousand nodes.
 */
export function canonicalJson(value: unknown, leaveOut: ReadonlySet<string> = nothing): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const object = value as Readonly<Record<string, unknown>>;
  let text = "{";
  for (const key of Object.keys(object).sort()) {
    const field = object[key];
    if (field === undefined || leaveOut.has(key)) continue;
    if (text.length > 1) text += ",";
    text += `${quoted(key)}:${typeof field === "number" ? numberText(field) : canonicalJson(field)}`;
  }
  return `${text}}`;
}

/** Most keys are words, which need no escaping. */
function quoted(key: string): string {
  return word.test(key) ? `"${key}"` : JSON.stringify(key);
}

function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : "null";
}
