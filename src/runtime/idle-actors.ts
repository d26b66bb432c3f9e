import type { InstanceEntry } from "./instance-entry.ts";

/**
 * Instances that are in memory and wait for something, those that moved longest ago first. Above the maximum they leave:
 * what they wait for brings them back.
 */
export class IdleActors {
  readonly #max: number;
  readonly #entries = new Set<InstanceEntry>();

  constructor(max: number) {
    this.#max = max;
  }

  /** It has had a turn. */
  touch(entry: InstanceEntry): void {
    this.#entries.delete(entry);
    if (entry.actor?.isIdle !== true || entry.actor.hasEnded) return;
    this.#entries.add(entry);
    if (this.#entries.size > this.#max) this.#evict();
  }

  #evict(): void {
    for (const entry of this.#entries) {
      this.#entries.delete(entry);
      const { actor } = entry;
      // One that has something to do again comes back here after its turn.
      if (actor === undefined || !actor.isIdle || actor.isBusy || actor.isQueued) continue;
      entry.actor = undefined;
      return;
    }
  }
}
