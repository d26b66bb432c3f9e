import type { Random } from "../base/random.ts";

/**
 * Chance that repeats itself: two of the same seed give the same numbers and ids, in the same order.
 *
 * ```ts
 * const engine = new Engine({ storage: memoryStore(), random: new SeededRandom(123) });
 * ```
 */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1), by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  uuid(nowMs: number): string {
    const time = nowMs.toString(16).padStart(12, "0");
    const variant = "89ab".charAt(Math.floor(this.next() * 4));
    return `${time.slice(0, 8)}-${time.slice(8)}-7${this.#hex(3)}-${variant}${this.#hex(3)}-${this.#hex(6)}${this.#hex(6)}`;
  }

  #hex(digits: number): string {
    const number = Math.floor(this.next() * 16 ** digits);
    return number.toString(16).padStart(digits, "0");
  }
}
