/** Pseudorandom numbers in [0, 1) that follow from the seed, by mulberry32. */
export class Mulberry {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns random text of that many hex digits. */
  hex(digits: number): string {
    return Math.floor(this.next() * 16 ** digits)
      .toString(16)
      .padStart(digits, "0");
  }

  /** Returns the hex digit of a UUID that encodes its variant. */
  variant(): string {
    return "89ab".charAt(Math.floor(this.next() * 4));
  }
}
