import type { Redactor } from "./redactor.ts";

/** A longer line is passed on in pieces. */
const lineLengthMax = 8000;

/** Part of a line; `isEnd` for the last. */
export type OnPiece = (piece: string, isEnd: boolean) => void;

/** Splits a stream of text into lines and redacts each. A secret that arrives in two chunks, or stands where a long line is cut, is redacted too. */
export class RedactedLines {
  readonly #redactor: Redactor;
  readonly #onPiece: OnPiece;
  #rest = "";
  /** Length of the end of a secret at the start of the rest. */
  #covered = 0;

  constructor(redactor: Redactor, onPiece: OnPiece) {
    this.#redactor = redactor;
    this.#onPiece = onPiece;
  }

  write(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#passOn(line.endsWith("\r") ? line.slice(0, -1) : line);
    while (this.#rest.length >= lineLengthMax + this.#redactor.lengthMax) {
      const { piece, rest, covered } = this.#redactor.take(this.#rest, this.#covered, lineLengthMax);
      this.#rest = rest;
      this.#covered = covered;
      this.#onPiece(piece, false);
    }
  }

  end(): void {
    if (this.#rest !== "") this.#passOn(this.#rest);
    this.#rest = "";
  }

  #passOn(line: string): void {
    const redacted = this.#redactor.redact(line, this.#covered);
    this.#covered = 0;
    for (let start = 0; ; start += lineLengthMax) {
      const isEnd = start + lineLengthMax >= redacted.length;
      this.#onPiece(redacted.slice(start, start + lineLengthMax), isEnd);
      if (isEnd) return;
    }
  }
}
