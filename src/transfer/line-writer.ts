import { createHash } from "node:crypto";
import { type Closed, type End, type Header, inShape, noRows, type RowKind, type Rows } from "./export-line.ts";

/** Line separators of Unicode, which some line readers take for a line break, and JSON does not escape. */
const separators = /[\u2028\u2029]/g;

/** A line ends after it has passed this length; its last row may be long. */
const lengthMax = 256 * 1024;

/** Writes the lines of an export, and counts and hashes them for the last one. */
export class LineWriter {
  readonly #hash = createHash("sha256");
  readonly #rows = noRows();
  #lines = 0;

  header(header: Omit<Header, "kind">): string {
    return this.#line({ kind: "header", ...header });
  }

  /** Returns several short lines; none for no rows. */
  *rows<Kind extends RowKind>(kind: Kind, rows: readonly Rows[Kind][]): Generator<string, void, void> {
    this.#rows[kind] += rows.length;
    let line: Rows[Kind][] = [];
    let length = 0;
    for (const row of rows) {
      line.push(inShape(kind, row));
      length += lengthOf(row);
      if (length < lengthMax) continue;
      yield this.#line({ kind, rows: line });
      line = [];
      length = 0;
    }
    if (line.length > 0) yield this.#line({ kind, rows: line });
  }

  closedLine(closed: Closed): string {
    return this.#line(closed);
  }

  end(): string {
    const end: End = { kind: "end", lines: this.#lines, rows: this.#rows, sha256: this.#hash.copy().digest("hex") };
    return this.#line(end);
  }

  #line(line: object): string {
    const json = JSON.stringify(line).replace(separators, (one) => `\\u${one.charCodeAt(0).toString(16)}`);
    const text = `${json}\n`;
    this.#lines++;
    this.#hash.update(text);
    return text;
  }
}

/** Returns the approximate length of a row: that of its texts. */
function lengthOf(row: object): number {
  let length = 0;
  for (const value of Object.values(row) as unknown[]) length += typeof value === "string" ? value.length : 8;
  return length;
}
