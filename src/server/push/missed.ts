import { upTo } from "./change-batch.ts";
import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import type { Listed } from "./store-listing.ts";

/** Missed changes of a client, taken in parts. */
export interface Missed {
  /** Number of remaining changes. */
  readonly left: number;
  /** The cursor after all of them. */
  readonly end: Cursor | undefined;
  /** Takes changes of about this size, at least one. */
  take(bytes: number): FeedEntry[];
}

/** Missed changes of one client, such as the turns of an instance. */
export class MissedEntries implements Missed {
  readonly #entries: readonly FeedEntry[];
  #taken = 0;

  constructor(entries: readonly FeedEntry[]) {
    this.#entries = entries;
  }

  get left(): number {
    return this.#entries.length - this.#taken;
  }

  get end(): Cursor | undefined {
    return this.#entries.at(-1)?.cursor;
  }

  take(bytes: number): FeedEntry[] {
    const entries = upTo(this.#entries, { from: this.#taken, bytes });
    this.#taken += entries.length;
    return entries;
  }
}

export const nothingMissed: Missed = new MissedEntries([]);

/** Missed instances of a list that clients share: entries are created when they are sent. */
export class MissedListing implements Missed {
  readonly #items: readonly Listed[];
  readonly #isMissed: (item: Listed) => boolean;
  readonly #place: { readonly since: Cursor; readonly until: Cursor };
  #next = 0;
  #left: number;

  constructor(
    items: readonly Listed[],
    isMissed: (item: Listed) => boolean,
    place: { readonly since: Cursor; readonly until: Cursor },
  ) {
    this.#items = items;
    this.#isMissed = isMissed;
    this.#place = place;
    this.#left = 0;
    for (const item of items) if (isMissed(item)) this.#left++;
  }

  get left(): number {
    return this.#left;
  }

  get end(): Cursor | undefined {
    return this.#left === 0 ? undefined : this.#place.until;
  }

  take(bytes: number): FeedEntry[] {
    const entries: FeedEntry[] = [];
    let taken = 0;
    while (this.#left > 0) {
      const item = this.#items[this.#next];
      if (item !== undefined && this.#isMissed(item)) {
        if (entries.length > 0 && taken + item.text.length > bytes) break;
        taken += item.text.length;
        this.#left--;
        entries.push(this.#entryOf(item));
      }
      this.#next++;
    }
    return entries;
  }

  /** Only the last entry has the new cursor: a client that disconnects earlier starts over. */
  #entryOf({ summary, text }: Listed): FeedEntry {
    const { since, until } = this.#place;
    return {
      instanceId: summary.id,
      workflowName: summary.workflow,
      createdAt: summary.createdAt,
      turn: 0,
      cursor: this.#left === 0 ? until : since,
      text,
      size: text.length,
    };
  }
}
