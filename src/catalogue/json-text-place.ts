/** A position in a text, counted from 1 as editors do. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

export type JsonPath = readonly (string | number)[];

/** A JSON syntax error with its offset. */
export class JsonProblem extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

export function placeAt(text: string, offset: number): TextPlace {
  let line = 1;
  let lineStart = 0;
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", lineStart)) {
    line++;
    lineStart = end + 1;
  }
  return { line, column: offset - lineStart + 1 };
}

/** Finds the syntax error of a text; `JSON.parse` does not always report its position. */
export function jsonProblem(text: string): JsonProblem | undefined {
  try {
    new JsonScanner(text).scan();
    return undefined;
  } catch (error) {
    if (error instanceof JsonProblem) return error;
    throw error;
  }
}

/** The offset of a value in a JSON text, or of the innermost existing value around it. */
export function offsetOf(text: string, path: JsonPath): number {
  let found = { depth: -1, offset: 0 };
  const scanner = new JsonScanner(text, (at, offset) => {
    // The last of duplicate keys counts, as for JSON.parse.
    if (at.length >= found.depth && at.length <= path.length && at.every((step, index) => step === path[index])) {
      found = { depth: at.length, offset };
    }
  });
  try {
    scanner.scan();
  } catch (error) {
    // Nested too deeply: the innermost value found so far is the result.
    if (!(error instanceof JsonProblem)) throw error;
  }
  return found.offset;
}

/** Depth limit: deeper than any definition, and safe for the stack. */
const depthMax = 500;

const plain = /[^"\\\u0000-\u001f]*/y; // oxlint-disable-line no-control-regex -- JSON does not allow them in strings
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Space, tab, line feed, carriage return. */
function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** Scans a JSON text once and reports the offset of each value. */
class JsonScanner {
  readonly #text: string;
  readonly #onValue: (path: JsonPath, offset: number) => void;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, onValue: (path: JsonPath, offset: number) => void = () => undefined) {
    this.#text = text;
    this.#onValue = onValue;
  }

  scan(): void {
    this.#value();
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected("nothing more");
  }

  #value(): void {
    this.#skipSpace();
    this.#onValue(this.#path, this.#at);
    if (this.#path.length > depthMax) throw new JsonProblem(this.#at, "it is nested too deeply");
    switch (this.#text[this.#at]) {
      case "{":
        return this.#list("}", () => this.#field());
      case "[":
        return this.#list("]", (index) => this.#valueAt(index));
      case '"':
        return void this.#string();
      default:
        if (this.#take(scalar) === "") throw this.#unexpected("a value");
    }
  }

  #list(end: string, item: (index: number) => void): void {
    this.#at++;
    this.#skipSpace();
    if (this.#skip(end)) return;
    for (let index = 0; ; index++) {
      item(index);
      this.#skipSpace();
      if (this.#skip(end)) return;
      if (!this.#skip(",")) throw this.#unexpected(`"," or "${end}"`);
    }
  }

  #field(): void {
    this.#skipSpace();
    if (this.#text[this.#at] !== '"') throw this.#unexpected("a name in double quotes");
    const name = this.#string();
    this.#skipSpace();
    if (!this.#skip(":")) throw this.#unexpected('":"');
    this.#valueAt(name);
  }

  #valueAt(step: string | number): void {
    this.#path.push(step);
    this.#value();
    this.#path.pop();
  }

  #string(): string {
    const start = this.#at++;
    for (;;) {
      this.#take(plain);
      if (this.#skip('"')) return JSON.parse(this.#text.slice(start, this.#at)) as string;
      if (this.#take(escape) !== "") continue;
      if (this.#text[this.#at] === "\\") throw new JsonProblem(this.#at, "no such escape in a text");
      throw new JsonProblem(start, "a text that does not end on its line");
    }
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const taken = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += taken.length;
    return taken;
  }

  #unexpected(expected: string): JsonProblem {
    const code = this.#text.codePointAt(this.#at);
    const found = code === undefined ? "the end of the file" : JSON.stringify(String.fromCodePoint(code));
    return new JsonProblem(this.#at, `expected ${expected}, found ${found}`);
  }
}
