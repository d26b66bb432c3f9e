import type { Clock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type Batch, type Changes, type Fenced, noChanges, type Store } from "../stores/store.ts";
import type { FencingToken } from "./fencing-token.ts";

/** A part of a commit: an instance's turn, or rows of a shard that belong to no turn. */
export interface CommitPart {
  /** The token of its shard. */
  readonly token: FencingToken;
  addTo(changes: Changes): void;
  /** Written in its place if the store rejects it, before all later parts: it takes up the numbers of its messages. */
  readonly fallback?: CommitPart | undefined;
}

/** A part that will never be written, and why: the store rejects its data, or its shard is lost. */
export interface Rejected<C> {
  readonly part: C;
  readonly error: unknown;
}

const quickTries = 3;
const backoffMsFirst = 50;
const backoffMsMax = 5000;

/**
 * Writes to the store, and retries. Parts of several shards share one commit. After an unclear answer the same commit is
 * sent again, under the same numbers, for as long as it takes. A shard that is fenced is left out of the next try.
 * Rejected data are bisected down to the one part that causes the rejection.
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
  /**
   * Set when a commit was given up, which may have landed, or may land yet, under its numbers: nothing more is sent.
   */
  #abandoned: { readonly error: unknown } | undefined;

  constructor(options: {
    store: Store;
    clock: Clock;
    logger: Logger;
    /** Called with the problem after the first tries, and with undefined when the store is back. */
    onHealth: (problem: unknown) => void;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onHealth = options.onHealth;
  }

  /** Stops waiting for a store that does not come back: unwritten parts stay unwritten. */
  giveUp(): void {
    this.#givenUp = true;
  }

  /**
   * Commits the parts; resolves when all are durable but those it returns. `STORE_UNAVAILABLE` only after `giveUp`,
   * `STORE_ROLLED_BACK`.
   */
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

  /** Releases the shard, which is its owner's last write. */
  async release(part: CommitPart): Promise<void> {
    try {
      await this.#send([part], true);
    } catch (error) {
      if (!hasCode(error, "STORE_GONE")) throw error;
      // No caller waits for this write. All acknowledged writes were made while the file was at its place.
      this.#logger.error({ error: messageOf(error) }, "the database file is gone; the engine stops without it");
    }
  }

  async #leaveOut<C extends CommitPart>(parts: readonly C[], error: Fenced): Promise<Rejected<C>[]> {
    const isLost = ({ token }: C): boolean => error.shards.includes(token.shard);
    const rejected = parts.filter(isLost).map((part) => ({ part, error }));
    const kept = parts.filter((part) => !isLost(part));
    return kept.length === 0 ? rejected : [...rejected, ...(await this.commit(kept))];
  }

  /** Bisects: tries each half by itself, until one part is left, which causes the rejection. */
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

  async #send(parts: readonly CommitPart[], released: boolean): Promise<void> {
    if (this.#abandoned !== undefined) throw this.#abandoned.error;
    const tokens = this.#tokensOf(parts);
    const changes = noChanges();
    for (const part of parts) part.addTo(changes);
    const batch: Batch = { fences: tokens.map((token) => token.fence(released)), changes };
    for (let tries = 1; ; tries++) {
      try {
        await this.#store.commit(batch);
        break;
      } catch (error) {
        const isAnswer =
          hasCode(error, "STORE_FENCED") ||
          hasCode(error, "STORE_DATA") ||
          hasCode(error, "STORE_ROLLED_BACK") ||
          (released && hasCode(error, "STORE_GONE"));
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

  /** The store has answered, be it with a rejection: it is available. */
  #noteAnswer(): void {
    if (!this.#failing) return;
    this.#failing = false;
    // A warning, because it follows an error.
    this.#logger.warn({}, "the store is available again; pending commits are written");
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
