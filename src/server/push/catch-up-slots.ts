import type { Follower } from "./follower.ts";

/**
 * Limits how many subscriptions of one client are brought up at a time. A slot is held until the client was given all
 * that it missed, or has left: what is read for a client that takes nothing is bounded, too.
 */
export class CatchUpSlots {
  readonly #perClientMax: number;
  readonly #active = new Map<object, Set<Follower>>();
  /** By client, in order: how each one starts. */
  readonly #waiting = new Map<object, Map<Follower, () => void>>();

  constructor(perClientMax: number) {
    this.#perClientMax = perClientMax;
  }

  /** How many slots are taken. */
  get size(): number {
    let size = 0;
    for (const followers of this.#active.values()) size += followers.size;
    return size;
  }

  /** Starts it now if the client has a free slot, otherwise when one becomes free. */
  acquire(follower: Follower, start: () => void): void {
    const { client } = follower.outlet;
    const active = this.#active.get(client) ?? new Set();
    if (active.has(follower) || active.size < this.#perClientMax) {
      this.#active.set(client, active.add(follower));
      return start();
    }
    const waiting = this.#waiting.get(client) ?? new Map<Follower, () => void>();
    this.#waiting.set(client, waiting.set(follower, start));
  }

  /** Of a follower that has everything, or is gone. */
  release(follower: Follower): void {
    const { client } = follower.outlet;
    const waiting = this.#waiting.get(client);
    waiting?.delete(follower);
    const active = this.#active.get(client);
    if (active?.delete(follower) === true) this.#startNext(waiting);
    if (this.#waiting.get(client)?.size === 0) this.#waiting.delete(client);
    if (this.#active.get(client)?.size === 0) this.#active.delete(client);
  }

  #startNext(waiting: Map<Follower, () => void> | undefined): void {
    for (const [follower, start] of waiting ?? []) {
      waiting?.delete(follower);
      return this.acquire(follower, start);
    }
  }
}
