import type { Clock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type Changes, noChanges, type ShardClaim, type Store } from "../stores/store.ts";

/** Something that wants to be durable together with others: an instance's turn, or a change of the shard's own. */
export interface Commitment {
  addTo(changes: Changes): void;
}

/** A commitment that the store will never take, and what it said. */
export interface Rejected<C> {
  readonly commitment: C;
  readonly error: unknown;
}

const quickTries = 3;
const backoffMsFirst = 50;
const backoffMsMax = 5000;

/**
 * The only one who waits for the store. Many commitments share one commit; an unclear answer is answered by the same
 * commit again, under the same number, for as long as it takes; a refusal of the data is narrowed down to the one
 * commitment that causes it.
 */
export class Committer {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #shard: number;
  readonly #epoch: number;
  readonly #onHealth: (problem: unknown) => void;
  #number: number;
  #failing = false;
  #givenUp = false;
  lastKey: number;

  constructor(options: {
    store: Store;
    clock: Clock;
    logger: Logger;
    shard: number;
    claim: ShardClaim;
    /** Told the problem once the quick tries are used up, and undefined when the store is back. */
    onHealth: (problem: unknown) => void;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#shard = options.shard;
    this.#epoch = options.claim.epoch;
    this.#number = options.claim.batch;
    this.lastKey = options.claim.lastKey;
    this.#onHealth = options.onHealth;
  }

  /** Stops waiting for a store that does not come back: what is not written stays unwritten. */
  giveUp(): void {
    this.#givenUp = true;
  }

  /**
   * Durable when it resolves, but for those it gives back. `STORE_FENCED`: the shard is lost, nothing was written.
   * `STORE_UNAVAILABLE` only after `giveUp`.
   */
  async commit<C extends Commitment>(commitments: readonly C[], changes: Changes): Promise<Rejected<C>[]> {
    for (const commitment of commitments) commitment.addTo(changes);
    try {
      await this.#send(changes, false);
      return [];
    } catch (error) {
      if (!hasCode(error, "STORE_DATA") || commitments.length === 0) throw error;
      const rejected = await this.#narrow(commitments, error);
      const { outboxAcked, marks } = changes;
      if (outboxAcked.length + marks.length > 0) await this.#send({ ...noChanges(), outboxAcked, marks }, false);
      return rejected;
    }
  }

  /** The owner's last word. */
  async close(changes: Changes): Promise<void> {
    await this.#send(changes, true);
  }

  /** One of these is to blame, or the only one is. Each half is tried by itself. */
  async #narrow<C extends Commitment>(commitments: readonly C[], error: unknown): Promise<Rejected<C>[]> {
    if (commitments.length === 1) return commitments.map((commitment) => ({ commitment, error }));
    const middle = Math.ceil(commitments.length / 2);
    const first = await this.commit(commitments.slice(0, middle), noChanges());
    const second = await this.commit(commitments.slice(middle), noChanges());
    return [...first, ...second];
  }

  async #send(changes: Changes, clean: boolean): Promise<void> {
    const batch = {
      shard: this.#shard,
      epoch: this.#epoch,
      number: this.#number + 1,
      lastKey: this.lastKey,
      clean,
      changes,
    };
    for (let tries = 1; ; tries++) {
      try {
        await this.#store.commit(batch);
        break;
      } catch (error) {
        if (hasCode(error, "STORE_DATA")) this.#answered();
        if (hasCode(error, "STORE_FENCED") || hasCode(error, "STORE_DATA")) throw error;
        if (this.#givenUp) throw error;
        await this.#backOff(tries, error);
      }
    }
    this.#number = batch.number;
    this.#answered();
  }

  /** Whatever it said, the store is there. */
  #answered(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#logger.info({ shard: this.#shard }, "the store is back; what was kept in memory is written");
    this.#onHealth(undefined);
  }

  async #backOff(tries: number, error: unknown): Promise<void> {
    this.#logger.warn({ shard: this.#shard, tries, error: messageOf(error) }, "a commit failed and is sent again");
    if (tries >= quickTries && !this.#failing) {
      this.#failing = true;
      this.#logger.error(
        { shard: this.#shard, error: messageOf(error) },
        "the store does not take writes; no new work is taken",
      );
      this.#onHealth(error);
    }
    const delayMs = Math.min(backoffMsFirst * 2 ** (tries - 1), backoffMsMax);
    await new Promise<void>((resolve) => this.#clock.after(delayMs, resolve));
  }
}
