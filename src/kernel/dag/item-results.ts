import type { Payload } from "../payload.ts";

/** Results are part of the output of a map as long as they take no more characters together. */
const lengthMax = 16_384;
const nullLength = "null,".length;

/** The results of a map's items in order, while they are small together. */
export class ItemResults {
  #count: number;
  #texts: (string | undefined)[] | undefined;
  #length: number;

  constructor(count: number) {
    this.#count = 0;
    this.#length = 0;
    this.#texts = [];
    this.grow(count);
  }

  grow(count: number): void {
    this.#count += count;
    this.#length += count * nullLength;
    if (this.#length > lengthMax) this.#texts = undefined;
  }

  keep(index: number, output: Payload | undefined): void {
    if (this.#texts === undefined || output === undefined) return;
    this.#length += typeof output === "string" ? output.length : Infinity;
    if (this.#length > lengthMax) this.#texts = undefined;
    else this.#texts[index] = output as string;
  }

  /** JSON texts of all results, `null` for an item without one; undefined if they are too long together. */
  get texts(): readonly string[] | undefined {
    const texts = this.#texts;
    return texts && Array.from({ length: this.#count }, (_, index) => texts[index] ?? "null");
  }
}
