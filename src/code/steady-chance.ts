/**
 * Chance that is the same in every replay: it follows from the instance's id and generation alone. The seed is a hash of
 * that text (FNV-1a), the numbers are mulberry32's.
 */
export class SteadyChance {
  #state: number;

  constructor(seed: string) {
    let hash = 0x811c9dc5;
    for (let place = 0; place < seed.length; place++) hash = Math.imul(hash ^ seed.charCodeAt(place), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Version 4. */
  uuid(): string {
    const hex = (digits: number): string =>
      Math.floor(this.next() * 16 ** digits)
        .toString(16)
        .padStart(digits, "0");
    const variant = "89ab".charAt(Math.floor(this.next() * 4));
    return `${hex(8)}-${hex(4)}-4${hex(3)}-${variant}${hex(3)}-${hex(6)}${hex(6)}`;
  }
}
