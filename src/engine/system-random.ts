import { randomBytes } from "node:crypto";
import type { Random } from "../base/random.ts";

const poolBytes = 4096;

/** Random hex digits in an id; two of them are replaced by the version and the variant. */
const digitsPerUuid = 20;

/** Random numbers from the operating system, drawn in larger portions because ids are made on the hot path. */
export class SystemRandom implements Random {
  #digits = "";
  #used = 0;
  #timeMs = -1;
  #time = "";

  next(): number {
    return Math.random();
  }

  uuid(nowMs: number): string {
    if (this.#used + digitsPerUuid > this.#digits.length) this.#draw();
    if (nowMs !== this.#timeMs) this.#setTime(nowMs);
    const at = this.#used;
    this.#used += digitsPerUuid;
    const digits = this.#digits;
    const variant = "89ab".charAt(Number.parseInt(digits.charAt(at + 3), 16) & 3);
    return `${this.#time}-7${digits.slice(at, at + 3)}-${variant}${digits.slice(at + 4, at + 7)}-${digits.slice(at + 7, at + 19)}`;
  }

  #draw(): void {
    this.#digits = randomBytes(poolBytes).toString("hex");
    this.#used = 0;
  }

  #setTime(nowMs: number): void {
    const time = nowMs.toString(16).padStart(12, "0");
    this.#timeMs = nowMs;
    this.#time = `${time.slice(0, 8)}-${time.slice(8)}`;
  }
}
