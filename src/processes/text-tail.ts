/** The end of a text that may be long. */
export class TextTail {
  readonly #lengthMax: number;
  #parts = "";
  isTruncated = false;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  get text(): string {
    return this.#parts;
  }

  add(text: string): void {
    this.#parts += text;
    if (this.#parts.length <= this.#lengthMax) return;
    this.isTruncated = true;
    this.#parts = this.#lengthMax === 0 ? "" : this.#parts.slice(-this.#lengthMax);
  }
}
