import { Mulberry } from "../base/mulberry.ts";
import type { Random } from "../base/random.ts";

/**
 * A seeded random source: the same seed gives the same numbers and ids, in the same order.
 *
 * ```ts
 * const engine = new Engine({ storage: memoryStore(), random: new SeededRandom(123) });
 * ```
 */
export class SeededRandom implements Random {
  readonly #random: Mulberry;

  constructor(seed: number) {
    this.#random = new Mulberry(seed);
  }

  /** The next number in [0, 1). */
  next(): number {
    return this.#random.next();
  }

  uuid(nowMs: number): string {
    const time = nowMs.toString(16).padStart(12, "0");
    const random = this.#random;
    const variant = random.variant();
    return `${time.slice(0, 8)}-${time.slice(8)}-7${random.hex(3)}-${variant}${random.hex(3)}-${random.hex(6)}${random.hex(6)}`;
  }
}
