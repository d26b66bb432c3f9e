import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";

/**
 * Databases keep text as UTF-8, which has no form for one half of a surrogate pair, while a JavaScript string may hold
 * one; and PostgreSQL has none for the zero character. Such a unit is written as a mark and its four hexadecimal digits.
 * The mark is a character that Unicode keeps out of all text; where it occurs all the same, it is written in the same
 * way, so that every string comes back as it was.
 */
const mark = "\ufdd0";
const zero = "\u0000";
const lone = "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const unsafe = new RegExp(`${zero}|${mark}|${lone}`, "g");
const marked = /\ufdd0([0-9a-f]{4})/g;

/** `STORE_DATA` for what is no text: a damaged history can lead to a turn that no store will ever take. */
export function toDisk(text: string): string {
  if (typeof text !== "string") {
    throw new EngineError("STORE_DATA", `a row cannot be written: it holds ${preview(text)} where text belongs`);
  }
  if (text.isWellFormed() && !text.includes(mark) && !text.includes(zero)) return text;
  return text.replace(unsafe, (unit) => mark + unit.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function toDiskOrNull(text: string | null): string | null {
  return text === null ? null : toDisk(text);
}

/** The order in which every database has texts: by the bytes of their UTF-8, which is the order of their code points. */
export function compareOnDisk(a: string, b: string): number {
  return Buffer.compare(Buffer.from(toDisk(a)), Buffer.from(toDisk(b)));
}

export function fromDisk(text: string): string {
  if (!text.includes(mark)) return text;
  return text.replace(marked, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
