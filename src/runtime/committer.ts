import type { Clock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type Batch, type Changes, type Fenced, noChanges, type Store } from "../stores/store.ts";
import type { Pen } from "./pen.ts";

/** Something that wants to be durable together with others: an instance's turn, or a change of the shard's own. */
export interface Commitment {
  /** Of the shard it belongs to. */
  readonly pen: Pen;
  addTo(changes: Changes): void;
  /** Written in its place if the store refuses it, before anything that comes after it: numbers that it has used up. */
  readonly instead?: Commitment | undefined;
}

/** A commitment that was not written and never will be, and why: the store refuses it, or its shard is lost. */
export interface Rejected<C> {
  readonly commitment: C;
  readonly error: unknown;
}

const quickTries = 3;
const backoffMsFirst = 50;
const backoffMsMax = 5000;

/**
 * The only one who waits for the store. Commitments of several shards share one commit; an unclear answer is answered
 * by the same commit again, under the same numbers, for as long as it takes; a shard that turns out to be lost is left
 * out of the next try; a refusal of the data is narrowed down to the one commitment that causes it.
 *
 * Leaving a shard out is safe: if the commit had landed, the numbers of the others say so.
 */
export class Committer {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onHealth: (problem: unknown) => void;
  #batches = 0;
  #failing = false;
  #givenUp = false;
  /** Why nothing more is sent: a commit was given up that may have landed, or may land yet, under its numbers. */
  #abandoned: { readonly error: unknown } | undefined;

  constructor(options: {
    store: Store;
    clock: Clock;
    logger: Logger;
    /** Told the problem once the quick tries are used up, and undefined when the store is back. */
    onHealth: (problem: unknown) => void;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onHealth = options.onHealth;
  }

  /** Stops waiting for a store that does not come back: what is not written stays unwritten. */
  giveUp(): void {
    this.#givenUp = true;
  }

  /** Durable when it resolves, but for those it gives back. `STORE_UNAVAILABLE` only after `giveUp`. */
  async commit<C extends Commitment>(commitments: readonly C[]): Promise<Rejected<C>[]> {
    try {
      await this.#send(commitments, false);
      return [];
    } catch (error) {
      if (hasCode(error, "STORE_FENCED")) return await this.#leaveOut(commitments, error as Fenced);
      if (hasCode(error, "STORE_DATA")) return await this.#narrow(commitments, error);
      throw error;
    }
  }

  /** The owner's last word: it gives the shard up. */
  async release(commitment: Commitment): Promise<void> {
    try {
      await this.#send([commitment], true);
    } catch (error) {
      if (!hasCode(error, "STORE_GONE")) throw error;
      // Nobody waits for this write. What was acknowledged was written while the file was at its place.
      this.#logger.error({ error: messageOf(error) }, "the database file is gone; the engine stops without it");
    }
  }

  async #leaveOut<C extends Commitment>(commitments: readonly C[], error: Fenced): Promise<Rejected<C>[]> {
    const isLost = ({ pen }: C): boolean => error.shards.includes(pen.shard);
    const rejected = commitments.filter(isLost).map((commitment) => ({ commitment, error }));
    const kept = commitments.filter((commitment) => !isLost(commitment));
    return kept.length === 0 ? rejected : [...rejected, ...(await this.commit(kept))];
  }

  /** One of these is to blame, or the only one is. Each half is tried by itself. */
  async #narrow<C extends Commitment>(commitments: readonly C[], error: unknown): Promise<Rejected<C>[]> {
    if (commitments.length === 1) {
      for (const { instead } of commitments) if (instead !== undefined) await this.commit([instead]);
      return commitments.map((commitment) => ({ commitment, error }));
    }
    const middle = Math.ceil(commitments.length / 2);
    const first = await this.commit(commitments.slice(0, middle));
    const second = await this.commit(commitments.slice(middle));
    return [...first, ...second];
  }

  async #send(commitments: readonly Commitment[], clean: boolean): Promise<void> {
    if (this.#abandoned !== undefined) throw this.#abandoned.error;
    const pens = this.#pensOf(commitments);
    const changes = noChanges();
    for (const commitment of commitments) commitment.addTo(changes);
    const batch: Batch = { fences: pens.map((pen) => pen.fence(clean)), changes };
    for (let tries = 1; ; tries++) {
      try {
        await this.#store.commit(batch);
        break;
      } catch (error) {
        const isAnswer =
          hasCode(error, "STORE_FENCED") || hasCode(error, "STORE_DATA") || (clean && hasCode(error, "STORE_GONE"));
        if (isAnswer) this.#answered();
        if (isAnswer) throw error;
        if (this.#givenUp) {
          // Another batch under the same numbers would be taken for this one, and count as written.
          this.#abandoned = { error };
          throw error;
        }
        await this.#backOff(tries, error);
      }
    }
    for (const pen of pens) pen.number++;
    this.#answered();
  }

  #pensOf(commitments: readonly Commitment[]): Pen[] {
    const batch = ++this.#batches;
    const pens: Pen[] = [];
    for (const { pen } of commitments) {
      if (pen.seenIn === batch) continue;
      pen.seenIn = batch;
      pens.push(pen);
    }
    return pens;
  }

  /** Whatever it said, the store is there. */
  #answered(): void {
    if (!this.#failing) return;
    this.#failing = false;
    // As loud as the error that it takes back.
    this.#logger.warn({}, "the store is back; what was kept in memory is written");
    this.#onHealth(undefined);
  }

  async #backOff(tries: number, error: unknown): Promise<void> {
    this.#logger.warn({ tries, error: messageOf(error) }, "a commit failed and is sent again");
    if (tries >= quickTries && !this.#failing) {
      this.#failing = true;
      this.#logger.error({ error: messageOf(error) }, "the store does not take writes; no new work is taken");
      this.#onHealth(error);
    }
    const delayMs = Math.min(backoffMsFirst * 2 ** (tries - 1), backoffMsMax);
    await new Promise<void>((resolve) => this.#clock.after(delayMs, resolve));
  }
}
