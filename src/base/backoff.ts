import type { Random } from "./random.ts";

/** Exponential backoff with jitter, so that clients which lost one server do not all reconnect at once. */
export class Backoff {
  readonly #random: Random;
  readonly #firstMs: number;
  readonly #lastMs: number;
  #nextMs: number;

  constructor(random: Random, pauses: { readonly firstMs: number; readonly lastMs: number }) {
    this.#random = random;
    this.#firstMs = pauses.firstMs;
    this.#lastMs = pauses.lastMs;
    this.#nextMs = pauses.firstMs;
  }

  next(): number {
    const pauseMs = this.#nextMs * (0.5 + this.#random.next() / 2);
    this.#nextMs = Math.min(this.#lastMs, 2 * this.#nextMs);
    return pauseMs;
  }

  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
