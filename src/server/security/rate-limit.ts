import type { Clock } from "../../base/clock.ts";

interface Window {
  endsAt: number;
  count: number;
}

/** Above this many keys, expired windows are removed. */
const keysMax = 10_000;

/** A fixed-window rate limit per key; a new window begins with the first request after the last one's end. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor(parts: { clock: Clock; max: number; windowMs: number }) {
    this.#clock = parts.clock;
    this.#max = parts.max;
    this.#windowMs = parts.windowMs;
  }

  /** Counts a request; returns the seconds until the next window if the limit is exceeded, otherwise undefined. */
  take(key: string): number | undefined {
    const now = this.#clock.monotonic();
    const window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      this.#begin(key, now);
      return undefined;
    }
    if (++window.count <= this.#max) return undefined;
    return Math.max(1, Math.ceil((window.endsAt - now) / 1000));
  }

  #begin(key: string, now: number): void {
    if (this.#windows.size >= keysMax) this.#forget(now);
    this.#windows.delete(key);
    this.#windows.set(key, { endsAt: now + this.#windowMs, count: 1 });
  }

  /** Windows have the same length, so they expire in insertion order. */
  #forget(now: number): void {
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size < keysMax) return;
      this.#windows.delete(key);
    }
  }
}
