import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";

/**
 * Databases keep text as UTF-8, which has no form for one half of a surrogate pair, while a JavaScript string may hold
 * one; and PostgreSQL has none for the zero character. Such a unit is escaped: an escape character and four
 * hexadecimal digits. The escape character is a noncharacter of Unicode; where it occurs in text, it is escaped too, so
 * that every string comes back as it was.
 */
const escape = "\ufdd0";
const zero = "\u0000";
const lone = "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const unsafe = new RegExp(`${zero}|${escape}|${lone}`, "g");
const escaped = /\ufdd0([0-9a-f]{4})/g;

/** Escapes text for a database. `STORE_DATA` for a value that is not text: a damaged history can lead to such a turn. */
export function toDisk(text: string): string {
  if (typeof text !== "string") {
    throw new EngineError("STORE_DATA", `a row cannot be written: it holds ${preview(text)} where text belongs`);
  }
  if (text.isWellFormed() && !text.includes(escape) && !text.includes(zero)) return text;
  return text.replace(unsafe, (unit) => escape + unit.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function toDiskOrNull(text: string | null): string | null {
  return text === null ? null : toDisk(text);
}

/** Compares texts as every database does: by the bytes of their UTF-8, which is the order of their code points. */
export function compareOnDisk(a: string, b: string): number {
  return Buffer.compare(Buffer.from(toDisk(a)), Buffer.from(toDisk(b)));
}

export function fromDisk(text: string): string {
  if (!text.includes(escape)) return text;
  return text.replace(escaped, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
