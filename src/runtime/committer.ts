import type { Clock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type Batch, type Changes, type Fenced, noChanges, type Store } from "../stores/store.ts";
import type { FencingToken } from "./fencing-token.ts";

/** Something that wants to be durable together with others: an instance's turn, or a change of the shard's own. */
export interface CommitPart {
  /** Of the shard it belongs to. */
  readonly token: FencingToken;
  addTo(changes: Changes): void;
  /** Written in its place if the store refuses it, before anything that comes after it: numbers that it has used up. */
  readonly fallback?: CommitPart | undefined;
}

/** A part that was not written and never will be, and why: the store refuses it, or its shard is lost. */
export interface Rejected<C> {
  readonly part: C;
  readonly error: unknown;
}

const quickTries = 3;
const backoffMsFirst = 50;
const backoffMsMax = 5000;

/**
 * The only one who waits for the store. Commitments of several shards share one commit; an unclear answer is answered
 * by the same commit again, under the same numbers, for as long as it takes; a shard that turns out to be lost is left
 * out of the next try; a refusal of the data is narrowed down to the one part that causes it.
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
  async commit<C extends CommitPart>(parts: readonly C[]): Promise<Rejected<C>[]> {
    try {
      await this.#send(parts, false);
      return [];
    } catch (error) {
      if (hasCode(error, "STORE_FENCED")) return await this.#leaveOut(parts, error as Fenced);
      if (hasCode(error, "STORE_DATA")) return await this.#narrow(parts, error);
      throw error;
    }
  }

  /** The owner's last word: it gives the shard up. */
  async release(part: CommitPart): Promise<void> {
    try {
      await this.#send([part], true);
    } catch (error) {
      if (!hasCode(error, "STORE_GONE")) throw error;
      // Nobody waits for this write. What was acknowledged was written while the file was at its place.
      this.#logger.error({ error: messageOf(error) }, "the database file is gone; the engine stops without it");
    }
  }

  async #leaveOut<C extends CommitPart>(parts: readonly C[], error: Fenced): Promise<Rejected<C>[]> {
    const isLost = ({ token }: C): boolean => error.shards.includes(token.shard);
    const rejected = parts.filter(isLost).map((part) => ({ part, error }));
    const kept = parts.filter((part) => !isLost(part));
    return kept.length === 0 ? rejected : [...rejected, ...(await this.commit(kept))];
  }

  /** One of these is to blame, or the only one is. Each half is tried by itself. */
  async #narrow<C extends CommitPart>(parts: readonly C[], error: unknown): Promise<Rejected<C>[]> {
    if (parts.length === 1) {
      for (const { fallback } of parts) if (fallback !== undefined) await this.commit([fallback]);
      return parts.map((part) => ({ part, error }));
    }
    const middle = Math.ceil(parts.length / 2);
    const first = await this.commit(parts.slice(0, middle));
    const second = await this.commit(parts.slice(middle));
    return [...first, ...second];
  }

  async #send(parts: readonly CommitPart[], clean: boolean): Promise<void> {
    if (this.#abandoned !== undefined) throw this.#abandoned.error;
    const tokens = this.#tokensOf(parts);
    const changes = noChanges();
    for (const part of parts) part.addTo(changes);
    const batch: Batch = { fences: tokens.map((token) => token.fence(clean)), changes };
    for (let tries = 1; ; tries++) {
      try {
        await this.#store.commit(batch);
        break;
      } catch (error) {
        const isAnswer =
          hasCode(error, "STORE_FENCED") || hasCode(error, "STORE_DATA") || (clean && hasCode(error, "STORE_GONE"));
        if (isAnswer) this.#noteAnswer();
        if (isAnswer) throw error;
        if (this.#givenUp) {
          // Another batch under the same numbers would be taken for this one, and count as written.
          this.#abandoned = { error };
          throw error;
        }
        await this.#backOff(tries, error);
      }
    }
    for (const token of tokens) token.batch++;
    this.#noteAnswer();
  }

  #tokensOf(parts: readonly CommitPart[]): FencingToken[] {
    const batch = ++this.#batches;
    const tokens: FencingToken[] = [];
    for (const { token } of parts) {
      if (token.lastCommit === batch) continue;
      token.lastCommit = batch;
      tokens.push(token);
    }
    return tokens;
  }

  /** Whatever it said, the store is there. */
  #noteAnswer(): void {
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
