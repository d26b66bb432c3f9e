export interface ClusterView {
  /** Counts the restores of backups that the store was told of: 0 at first, then the time of the last one. */
  readonly incarnation: number;
  /** Sorted by id. */
  readonly members: readonly MemberRow[];
  /** Shards that were ever claimed, sorted by number. */
  readonly shards: readonly ShardRow[];
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
