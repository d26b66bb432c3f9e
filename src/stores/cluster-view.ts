export interface ClusterView {
  /** Counts the restores of backups that the store was told of: 0 at first, then the time of the last one. */
  readonly incarnation: number;
  /** Sorted by id. */
  readonly members: readonly MemberRow[];
  /** Shards that were ever claimed, sorted by number; those that may have changed, if only they were asked for. */
  readonly shards: readonly ShardRow[];
  /** The store's clock in seconds before the shards were read: later claims have no lower epoch. If changes were asked for. */
  readonly seconds?: number;
}

export interface MemberRow {
  readonly id: string;
  readonly address: string;
  /** Text that the member reported of itself with a heartbeat, up to 1,000 characters; empty before. */
  readonly about: string;
  readonly heartbeat: number;
}

export interface ShardRow {
  readonly shard: number;
  readonly epoch: number;
  readonly owner: string;
  /** Number of the last batch that landed. */
  readonly lastBatch: number;
  /** The owner has released the shard. */
  readonly released: boolean;
}
