/** A longer line is passed on in pieces. */
const lineLengthMax = 8000;

/** Splits the output of a process into lines. */
export class OutputLines {
  readonly #onLine: (line: string) => void;
  #rest = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#passOn(line.endsWith("\r") ? line.slice(0, -1) : line);
    while (this.#rest.length >= lineLengthMax) {
      this.#onLine(this.#rest.slice(0, lineLengthMax));
      this.#rest = this.#rest.slice(lineLengthMax);
    }
  }

  end(): void {
    if (this.#rest !== "") this.#passOn(this.#rest);
    this.#rest = "";
  }

  #passOn(line: string): void {
    for (let start = 0; start === 0 || start < line.length; start += lineLengthMax) {
      this.#onLine(line.slice(start, start + lineLengthMax));
    }
  }
}
