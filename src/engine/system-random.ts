import { randomBytes } from "node:crypto";
import type { Random } from "../base/random.ts";

const idsPerDraw = 256;

/** Length of the random part of an id: `7xxx-vxxx-xxxxxxxxxxxx`. */
const tailLength = 22;

const digits = Buffer.from("0123456789abcdef");
const variants = Buffer.from("89ab");
const hyphen = 0x2d;
const version = 0x37;

/**
 * Random numbers from the operating system. The random parts of many ids are written at once, into one text: an id that
 * is put together from its digits and hyphens takes some 230 bytes more.
 */
export class SystemRandom implements Random {
  #tails = "";
  #used = 0;
  #timeMs = -1;
  #time = "";

  next(): number {
    return Math.random();
  }

  uuid(nowMs: number): string {
    if (this.#used === this.#tails.length) this.#draw();
    if (nowMs !== this.#timeMs) this.#setTime(nowMs);
    const at = this.#used;
    this.#used = at + tailLength;
    return this.#time + this.#tails.slice(at, at + tailLength);
  }

  /** Draws one byte for each character, and turns it into the character. */
  #draw(): void {
    const text = randomBytes(idsPerDraw * tailLength);
    for (let at = 0; at < text.length; at += tailLength) {
      const variant = variants[(text[at + 5] as number) & 3] as number;
      for (let place = at; place < at + tailLength; place++)
        text[place] = digits[(text[place] as number) & 15] as number;
      text[at] = version;
      text[at + 4] = hyphen;
      text[at + 5] = variant;
      text[at + 9] = hyphen;
    }
    this.#tails = text.toString("latin1");
    this.#used = 0;
  }

  #setTime(nowMs: number): void {
    const time = nowMs.toString(16).padStart(12, "0");
    this.#timeMs = nowMs;
    this.#time = `${time.slice(0, 8)}-${time.slice(8)}-`;
  }
}
