import type { Follower } from "./follower.ts";

/**
 * Limits how many subscriptions of one client catch up at a time. A slot is held until the client has received all
 * missed changes, or has left: this also bounds the memory for a client that does not read.
 */
export class CatchUpSlots {
  readonly #perClientMax: number;
  readonly #active = new Map<object, Set<Follower>>();
  /** Waiting followers by client, in order, with their start functions. */
  readonly #waiting = new Map<object, Map<Follower, () => void>>();

  constructor(perClientMax: number) {
    this.#perClientMax = perClientMax;
  }

  /** Number of slots in use. */
  get size(): number {
    let size = 0;
    for (const followers of this.#active.values()) size += followers.size;
    return size;
  }

  /** Starts a catch-up now, or when the client has a free slot. */
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

  /** Releases the slot of a follower that has caught up or left. */
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
