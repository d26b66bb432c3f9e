import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { MailboxRow, Store } from "../stores/store.ts";

/** How much mail is fetched at once, and how much may wait for its answer before no more is fetched. */
const pageSize = 200;
const inHandMax = 2000;

/**
 * Mail that nobody has fetched for this long is deleted, and looked for this often: nobody waits for its answer any more,
 * and the keys of requests, by which a repetition is recognised, are not kept for ever.
 */
const oldMailMs = 3_600_000;

export type MailboxStore = Pick<Store, "post" | "readMailbox" | "deleteFromMailbox" | "deleteMailboxRowsBefore">;

/**
 * Fetches mail from the boxes of a member, one read at a time, and deletes what is done with. A mail is *in hand* from
 * the moment it is fetched until no read can show it any more, and is not opened again meanwhile. One that is left for
 * somebody else goes out of hand when the pause is over.
 */
export class MailboxPoller {
  readonly #store: MailboxStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pauseMs: () => number;
  readonly #names: () => string[];
  readonly #open: (row: MailboxRow) => Promise<boolean>;
  readonly #inHand = new Set<number>();
  readonly #left: number[] = [];
  readonly #done: number[] = [];
  readonly #deleted: number[] = [];
  #openedNow = 0;
  #hasMore = false;
  #isRound = false;
  #isDeletionQueued = false;
  #isDeleting = false;
  #isStopped = false;
  #timer: Timer | undefined;
  /** On the monotonic clock. Before the first fetch: what was left by a cluster that was stopped long ago is not opened. */
  #lookedForOldAt = -Infinity;

  constructor(parts: {
    store: MailboxStore;
    clock: Clock;
    logger: Logger;
    /** Until the next round that is not for catching up. */
    pauseMs: () => number;
    names: () => string[];
    /** True when it may be deleted, false if it is left where it is. */
    open: (row: MailboxRow) => Promise<boolean>;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#pauseMs = parts.pauseMs;
    this.#names = parts.names;
    this.#open = parts.open;
  }

  start(): void {
    this.#timer = this.#clock.after(this.#pauseMs(), () => {
      for (const id of this.#left.splice(0)) this.#inHand.delete(id);
      void this.#round();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #round(): Promise<void> {
    this.#isRound = true;
    this.#timer?.cancel();
    try {
      await this.#deleteDone();
      await this.#deleteOld();
      await this.#fetch();
    } catch (error) {
      this.#logStoreError(error);
    }
    this.#isRound = false;
    if (this.#isStopped) return;
    this.start();
    this.#catchUp();
  }

  /** What is in hand shows up again, so a page is that much larger: it brings something new, if there is anything. */
  async #fetch(): Promise<void> {
    if (this.#isStopped) return;
    for (const id of this.#deleted.splice(0)) this.#inHand.delete(id);
    const limit = Math.min(pageSize + this.#inHand.size, inHandMax);
    const rows = await this.#store.readMailbox(this.#names(), limit);
    if (this.#isStopped) return;
    const fresh = rows.filter((row) => !this.#inHand.has(row.id));
    this.#hasMore = rows.length >= limit && fresh.length > 0;
    for (const row of fresh) {
      this.#inHand.add(row.id);
      void this.#take(row);
    }
  }

  async #take(row: MailboxRow): Promise<void> {
    this.#openedNow++;
    const isDone = await this.#open(row);
    this.#openedNow--;
    if (isDone) {
      this.#done.push(row.id);
      this.#deleteSoon();
    } else this.#left.push(row.id);
    this.#catchUp();
  }

  /** After a full page the next one is fetched as soon as there are hands for it. */
  #catchUp(): void {
    if (this.#isStopped || this.#isRound || !this.#hasMore || this.#openedNow > pageSize / 2) return;
    this.#hasMore = false;
    void this.#round();
  }

  #deleteSoon(): void {
    if (this.#isDeletionQueued) return;
    this.#isDeletionQueued = true;
    this.#clock.soon(() => {
      this.#isDeletionQueued = false;
      this.#deleteDone().catch((error: unknown) => this.#logStoreError(error));
    });
  }

  async #deleteDone(): Promise<void> {
    if (this.#isDeleting) return;
    this.#isDeleting = true;
    try {
      while (this.#done.length > 0 && !this.#isStopped) {
        const ids = [...this.#done];
        await this.#store.deleteFromMailbox(ids);
        this.#done.splice(0, ids.length);
        this.#deleted.push(...ids);
      }
    } finally {
      this.#isDeleting = false;
    }
  }

  async #deleteOld(): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#isStopped || now - this.#lookedForOldAt < oldMailMs) return;
    await this.#store.deleteMailboxRowsBefore(this.#clock.now() - oldMailMs);
    this.#lookedForOldAt = now;
  }

  #logStoreError(error: unknown): void {
    this.#logger.debug({ error: messageOf(error) }, "mailboxes could not be emptied; the next round tries again");
  }
}
