import type { InstanceEntry } from "./instance-entry.ts";

/**
 * Instances in memory that wait for something, least recently used first. Above the maximum they are evicted; the next
 * message or timer loads them again.
 */
export class IdleActors {
  readonly #max: number;
  readonly #entries = new Set<InstanceEntry>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Notes that the instance has had a turn. */
  touch(entry: InstanceEntry): void {
    this.#entries.delete(entry);
    if (entry.actor?.isIdle !== true || entry.actor.hasEnded) return;
    this.#entries.add(entry);
    if (this.#entries.size > this.#max) this.#evict();
  }

  #evict(): void {
    for (const entry of this.#entries) {
      this.#entries.delete(entry);
      // An actor that has messages again is touched after its turn.
      if (entry.evictIfIdle()) return;
    }
  }
}
