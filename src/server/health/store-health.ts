import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { Store } from "../../stores/store.ts";
import { overrideStore } from "../../stores/wrap-store.ts";

/** Time after which an unanswered heartbeat counts as an outage; stores themselves retry much longer. */
const patienceMs = 2000;

/**
 * Availability of the store. Members send it a heartbeat every few seconds, on a connection that no query holds up, so
 * its outcome shows it without another query. An embedded store gets none: it is never away.
 */
export class StoreHealth {
  /** The store for the engine. */
  readonly storage: Store;
  readonly #clock: Clock;
  #askedAt: number | undefined;
  #failure: string | undefined;

  constructor(store: Store, clock: Clock) {
    this.#clock = clock;
    const heartbeat: Store["heartbeat"] = async (member, about, since) => {
      this.#askedAt = clock.monotonic();
      try {
        const view = await store.heartbeat(member, about, since);
        this.#failure = undefined;
        return view;
      } catch (error) {
        this.#failure = messageOf(error);
        throw error;
      } finally {
        this.#askedAt = undefined;
      }
    };
    this.storage = overrideStore(store, { heartbeat });
  }

  /** The reason why the store counts as unavailable, as a sentence; undefined while it answers. */
  get problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure;
    if (this.#askedAt === undefined) return undefined;
    const waitedMs = this.#clock.monotonic() - this.#askedAt;
    if (waitedMs < patienceMs) return undefined;
    return `the store has not answered for ${Math.floor(waitedMs / 1000)} seconds`;
  }
}
