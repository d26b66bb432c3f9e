import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { MailboxRow, Store } from "../stores/store.ts";

/** Number of rows that are read at once, and that may be in hand before no more are read. */
const pageSize = 200;
const inHandMax = 2000;

/**
 * Rows of this age are deleted, and looked for this often: nobody waits for their answers any more, and the keys by which
 * a repetition would be recognised are not kept for ever.
 */
const oldMailMs = 3_600_000;

export type MailboxStore = Pick<Store, "post" | "listMailboxRows" | "deleteMailboxRows" | "deleteMailboxRowsBefore">;

/**
 * Reads the mailboxes of a member, one read at a time, and deletes rows that are dealt with. A row is *in hand* from the
 * moment it is read until no read can return it any more, and is not opened again meanwhile. A row that is left for
 * another member is out of hand after the pause.
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
  /** True if another round was asked for while one was under way. */
  #isAskedAgain = false;
  #timer: Timer | undefined;
  #timerAt = Infinity;
  /**
   * Monotonic time of the last deletion of old rows. They are deleted before the first read, so that rows of a cluster
   * that was stopped long ago are not opened.
   */
  #oldDeletedAt = -Infinity;

  constructor(parts: {
    store: MailboxStore;
    clock: Clock;
    logger: Logger;
    /** Pause between two rounds, unless a full page was read. */
    pauseMs: () => number;
    names: () => string[];
    /** True when the row may be deleted, false if it stays. */
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
    this.#setTimer(this.#pauseMs());
  }

  /** Reads the mailboxes now, because somebody said that there is something in them. */
  pollNow(): void {
    if (this.#isStopped) return;
    if (this.#isRound) this.#isAskedAgain = true;
    else void this.#round();
  }

  /** Brings the next round forward, if it would be later than after a pause that begins now. */
  shortenPause(): void {
    if (this.#isStopped || this.#isRound) return;
    const pauseMs = this.#pauseMs();
    if (this.#clock.monotonic() + pauseMs < this.#timerAt) this.#setTimer(pauseMs);
  }

  #setTimer(pauseMs: number): void {
    this.#timer?.cancel();
    this.#timerAt = this.#clock.monotonic() + pauseMs;
    this.#timer = this.#clock.after(pauseMs, () => {
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
    if (!this.#isAskedAgain) return this.#catchUp();
    this.#isAskedAgain = false;
    void this.#round();
  }

  /** Rows in hand are returned again, so the page is larger by their number. */
  async #fetch(): Promise<void> {
    if (this.#isStopped) return;
    for (const id of this.#deleted.splice(0)) this.#inHand.delete(id);
    const limit = Math.min(pageSize + this.#inHand.size, inHandMax);
    const rows = await this.#store.listMailboxRows(this.#names(), limit);
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

  /** Reads the next page after a full one, as soon as half a page is handled. */
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
        await this.#store.deleteMailboxRows(ids);
        this.#done.splice(0, ids.length);
        this.#deleted.push(...ids);
      }
    } finally {
      this.#isDeleting = false;
    }
  }

  async #deleteOld(): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#isStopped || now - this.#oldDeletedAt < oldMailMs) return;
    await this.#store.deleteMailboxRowsBefore(this.#clock.now() - oldMailMs);
    this.#oldDeletedAt = now;
  }

  #logStoreError(error: unknown): void {
    this.#logger.debug(
      { error: messageOf(error) },
      "mailboxes could not be read or emptied; the next round tries again",
    );
  }
}
