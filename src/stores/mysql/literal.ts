import { unreachable } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import type { Column, ColumnList } from "../sql/columns.ts";
import { toDisk } from "../text.ts";

/**
 * A value as it stands in SQL. Only the functions here make one, and only what is one goes into a statement's places.
 *
 * Texts are written for the settings that each packet begins with (`settings` in script.ts): UTF-8, and a backslash is a
 * character like any other. So nothing but the quote itself has to be written otherwise, JSON travels as it is, and a
 * text of the largest size fits into the packet of a server that was left as it comes.
 */
export type Literal = string & { readonly literal: unique symbol };

export const nothing = "NULL" as Literal;

export function text(value: string): Literal {
  if (typeof value === "string") return storedText(toDisk(value));
  throw new EngineError("STORE_DATA", `a text in a row must be text, got ${preview(value)}`);
}

/** A text that is in the form it has on disk already. */
export function storedText(value: string): Literal {
  return (value.includes("'") ? withQuotesDoubled(value) : `'${value}'`) as Literal;
}

export function textOrNull(value: string | null): Literal {
  return value === null ? nothing : text(value);
}

/** Every number in a row is whole; one that is not can never be written. */
export function whole(value: number): Literal {
  if (Number.isSafeInteger(value)) return `${value}` as Literal;
  throw new EngineError("STORE_DATA", `a number in a row must be whole and below 2^53, got ${preview(value)}`);
}

export function wholeOrNull(value: number | null): Literal {
  return value === null ? nothing : whole(value);
}

/** A bound that rows are compared with, which may be any number. */
export function bound(value: number): Literal {
  if (Number.isFinite(value)) return `${value}` as Literal;
  throw new EngineError("STORE_DATA", `a bound must be a finite number, got ${preview(value)}`);
}

export function flag(value: boolean): Literal {
  return (value ? "1" : "0") as Literal;
}

/** SQL of our own around literals. */
export function sql(texts: TemplateStringsArray, ...values: readonly Literal[]): Literal {
  return texts.reduce((before, after, index) => before + values[index - 1] + after) as Literal;
}

export function row(...values: readonly Literal[]): Literal {
  return `(${values.join()})` as Literal;
}

export function list(values: readonly Literal[]): Literal {
  return values.join() as Literal;
}

export function join(parts: readonly Literal[], between: Literal): Literal {
  return parts.join(between) as Literal;
}

/** Rows as they stand after VALUES. Items of one column are keys, which stand by themselves. */
export function rowsOf<Item>(columns: ColumnList<Item>, items: readonly Item[]): Literal[] {
  const [only] = columns;
  if (only !== undefined && columns.length === 1) return items.map((item) => literalOf(only, item));
  return items.map((item) => `(${columns.map((column) => literalOf(column, item)).join()})` as Literal);
}

function literalOf<Item>(column: Column<Item>, item: Item): Literal {
  switch (column.type) {
    case "text":
      return textOrNull(column.of(item));
    case "integer":
      return wholeOrNull(column.of(item));
    case "boolean":
      return flag(column.of(item));
    default:
      return unreachable(column, "the type of a column");
  }
}

/** Both kinds of quotes begin and end a text. With the rarer one, no text becomes longer than half as long again. */
function withQuotesDoubled(value: string): string {
  const quote = count(value, '"') < count(value, "'") ? '"' : "'";
  return quote + value.replaceAll(quote, quote + quote) + quote;
}

function count(value: string, quote: string): number {
  let found = 0;
  for (let at = value.indexOf(quote); at !== -1; at = value.indexOf(quote, at + 1)) found += 1;
  return found;
}
