import { SeededRandom } from "../../src/testing/seeded-random.ts";

/**
 * A seeded random source. Each part of a run has a fork of its own, so that additional draws in one do not affect
 * others.
 */
export class SimRandom extends SeededRandom {
  readonly #seed: number;

  constructor(seed: number) {
    super(seed);
    this.#seed = seed >>> 0;
  }

  /** Returns a source that depends on the seed and label only, however often this one was used. */
  fork(label: string): SimRandom {
    let mixed = this.#seed ^ 0x811c9dc5;
    for (let i = 0; i < label.length; i++) mixed = Math.imul(mixed ^ label.charCodeAt(i), 0x01000193);
    return new SimRandom(Math.imul(mixed ^ (mixed >>> 15), 0x9e3779b1));
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** A number in [low, high). */
  within(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** An exponentially distributed delay: often short, sometimes several times the mean. */
  waitMs(meanMs: number): number {
    return -Math.log(1 - this.next()) * meanMs;
  }

  isLucky(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[Math.floor(this.next() * list.length)];
    if (picked === undefined && list.length === 0) throw new Error("there is nothing to pick from");
    return picked as T;
  }

  /** Picks by weight; never one of weight 0. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name | undefined {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      if (weight > 0 && left < weight) return name;
      left -= weight;
    }
    return undefined;
  }
}
