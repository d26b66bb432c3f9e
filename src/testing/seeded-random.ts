import { Mulberry } from "../base/mulberry.ts";
import type { Random } from "../base/random.ts";

/**
 * Chance that repeats itself: two of the same seed give the same numbers and ids, in the same order.
 *
 * ```ts
 * const engine = new Engine({ storage: memoryStore(), random: new SeededRandom(123) });
 * ```
 */
export class SeededRandom implements Random {
  readonly #chance: Mulberry;

  constructor(seed: number) {
    this.#chance = new Mulberry(seed);
  }

  /** In [0, 1). */
  next(): number {
    return this.#chance.next();
  }

  uuid(nowMs: number): string {
    const time = nowMs.toString(16).padStart(12, "0");
    const chance = this.#chance;
    const variant = chance.variant();
    return `${time.slice(0, 8)}-${time.slice(8)}-7${chance.hex(3)}-${variant}${chance.hex(3)}-${chance.hex(6)}${chance.hex(6)}`;
  }
}
