import { randomFillSync } from "node:crypto";
import type { Random } from "../base/random.ts";

const poolBytes = 4096;
const bytesPerUuid = 10;

/** Chance from the operating system, drawn in larger portions because ids are made on the hot path. */
export class SystemRandom implements Random {
  readonly #pool = Buffer.alloc(poolBytes);
  #used = poolBytes;

  next(): number {
    return Math.random();
  }

  uuid(nowMs: number): string {
    if (this.#used + bytesPerUuid > poolBytes) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const time = nowMs.toString(16).padStart(12, "0");
    const random = this.#pool.toString("hex", this.#used, (this.#used += bytesPerUuid));
    const variant = "89ab".charAt(Number.parseInt(random.charAt(3), 16) & 3);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
  }
}
