import type { ClusterView, ShardRow } from "../stores/store.ts";

/** Time after which all rows are read again, whatever the clocks say. */
const allEveryMs = 600_000;

/** A claim becomes visible so much later, at most, than the moment whose time is in its epoch; nearly all do much sooner. */
const slackSeconds = 60;
const usualSlackSeconds = 10;

/** Interval of the views that also have claims which took longer than usual, since the last such view. */
const slowEveryMs = 20_000;
const slowSlackSeconds = slackSeconds + slowEveryMs / 1000;

/** The store's clock was set back if it has advanced so much less than that of this process. */
const toleranceSeconds = 20;

/**
 * The rows of all shards, kept up to date by views that have only what may have changed: claims since the last view, shards
 * that are released, and those of this member. So a heartbeat costs the rows of its own shards, and not those of all. When
 * all shards have new owners, their rows are in the next few views, and not in those of a whole minute.
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
  #slowAskedAt = 0;

  /** What the next view, which is asked for now, has to contain: everything if it is 0. */
  since(now: number): number {
    if (this.#seconds === undefined || now - this.#allAskedAt >= allEveryMs) return 0;
    const isForSlow = now - this.#slowAskedAt >= slowEveryMs;
    return Math.max(0, this.#seconds - (isForSlow ? slowSlackSeconds : usualSlackSeconds));
  }

  /** Takes over a view that was asked for at that time, and returns it with all shards. */
  merge(view: ClusterView, { since, askedAt }: { readonly since: number; readonly askedAt: number }): ClusterView {
    const { seconds } = view;
    const advanced = Math.floor((askedAt - this.#askedAt) / 1000);
    const wasSetBack = seconds === undefined || seconds < (this.#seconds ?? 0) + advanced - toleranceSeconds;
    if (since === 0) {
      this.#rows.clear();
      this.#allAskedAt = askedAt;
      this.#slowAskedAt = askedAt;
    }
    if (since <= (this.#seconds ?? 0) - slowSlackSeconds) this.#slowAskedAt = askedAt;
    for (const row of view.shards) this.#rows.set(row.shard, row);
    this.#seconds = since > 0 && wasSetBack ? undefined : seconds;
    this.#askedAt = askedAt;
    return { ...view, shards: [...this.#rows.values()].sort((a, b) => a.shard - b.shard) };
  }
}
