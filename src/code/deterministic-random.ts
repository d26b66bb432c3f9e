import { Mulberry } from "../base/mulberry.ts";

/**
 * Random numbers that are the same in every replay: they follow from the instance's id and generation alone, by a hash
 * of that text (FNV-1a).
 */
export class DeterministicRandom extends Mulberry {
  constructor(seed: string) {
    let hash = 0x811c9dc5;
    for (let place = 0; place < seed.length; place++) hash = Math.imul(hash ^ seed.charCodeAt(place), 0x01000193);
    super(hash);
  }

  /** Version 4. */
  uuid(): string {
    const variant = this.variant();
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-${variant}${this.hex(3)}-${this.hex(6)}${this.hex(6)}`;
  }
}
