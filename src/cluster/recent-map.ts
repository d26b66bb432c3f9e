import type { Clock } from "../base/clock.ts";

/** Keeps what was put there of late; the oldest go first. */
export class RecentMap<V> {
  readonly #clock: Clock;
  readonly #ageMsMax: number;
  readonly #countMax: number;
  readonly #weightMax: number;
  readonly #weightOf: (value: V) => number;
  /** Oldest first. */
  readonly #entries = new Map<string, { value: V; at: number }>();
  #weight = 0;

  constructor(options: {
    clock: Clock;
    ageMsMax: number;
    countMax?: number;
    weightMax?: number;
    weightOf?: (value: V) => number;
  }) {
    this.#clock = options.clock;
    this.#ageMsMax = options.ageMsMax;
    this.#countMax = options.countMax ?? Infinity;
    this.#weightMax = options.weightMax ?? Infinity;
    this.#weightOf = options.weightOf ?? (() => 0);
  }

  get(key: string): V | undefined {
    this.#forgetOld();
    return this.#entries.get(key)?.value;
  }

  set(key: string, value: V): void {
    this.delete(key);
    this.#entries.set(key, { value, at: this.#clock.monotonic() });
    this.#weight += this.#weightOf(value);
    this.#forgetOld();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weightOf(entry.value);
  }

  #forgetOld(): void {
    const since = this.#clock.monotonic() - this.#ageMsMax;
    for (const [key, { at }] of this.#entries) {
      if (at >= since && this.#entries.size <= this.#countMax && this.#weight <= this.#weightMax) return;
      this.delete(key);
    }
  }
}
