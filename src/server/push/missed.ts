import { upTo } from "./batch.ts";
import type { Cursor } from "./cursor.ts";
import type { FeedEntry } from "./feed-entry.ts";
import type { Listed } from "./store-listing.ts";

/** What a client missed before it joined, handed out in parts. */
export interface Missed {
  /** How many it has not been given yet. */
  readonly left: number;
  /** Where a client stands that was given all of it. */
  readonly end: Cursor | undefined;
  /** The next of about so many bytes; at least one. */
  take(bytes: number): FeedEntry[];
}

/** Entries that belong to one client alone, such as the turns of an instance. */
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

/** Instances of a list that many clients share: entries are made when they are sent. */
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

  /** The new place comes with the last of them: a client that does not get that far comes back for all. */
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
