import type { ClusterView, ShardRow } from "../stores/store.ts";

/** Time after which all rows are read again, whatever the clocks say. */
const allEveryMs = 600_000;

/** A claim may become visible so much later than the moment whose time is in its epoch. */
const slackSeconds = 60;

/** The store's clock was set back if it has advanced so much less than that of this process. */
const toleranceSeconds = 20;

/**
 * The rows of all shards, kept up to date by views that have only what may have changed: claims since the last view, shards
 * that are released, and those of this member. So a heartbeat costs the rows of its own shards, and not those of all.
 *
 * Epochs follow the clock of the store (`Store.claimShard`). Once that was set back, claims may have epochs that look
 * old: all rows are read then.
 */
export class KnownShards {
  readonly #rows = new Map<number, ShardRow>();
  /** The store's clock in the last view; undefined if all rows have to be read. */
  #seconds: number | undefined;
  #askedAt = 0;
  #allAskedAt = 0;

  /** What the next view, which is asked for now, has to contain: everything if it is 0. */
  since(now: number): number {
    if (this.#seconds === undefined || now - this.#allAskedAt >= allEveryMs) return 0;
    return Math.max(0, this.#seconds - slackSeconds);
  }

  /** Takes over a view that was asked for at that time, and returns it with all shards. */
  merge(view: ClusterView, { since, askedAt }: { readonly since: number; readonly askedAt: number }): ClusterView {
    const { seconds } = view;
    const advanced = Math.floor((askedAt - this.#askedAt) / 1000);
    const wasSetBack = seconds === undefined || seconds < (this.#seconds ?? 0) + advanced - toleranceSeconds;
    if (since === 0) {
      this.#rows.clear();
      this.#allAskedAt = askedAt;
    }
    for (const row of view.shards) this.#rows.set(row.shard, row);
    this.#seconds = since > 0 && wasSetBack ? undefined : seconds;
    this.#askedAt = askedAt;
    return { ...view, shards: [...this.#rows.values()].sort((a, b) => a.shard - b.shard) };
  }
}
