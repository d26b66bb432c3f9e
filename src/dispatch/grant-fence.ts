/** Makes a worker, or a host, refuse grants of an earlier owner of the shard once it has seen a later epoch. */
export interface GrantFence {
  /** Incarnation of the store: epochs are remembered for one. */
  readonly incarnation: number;
  readonly shard: number;
  readonly epoch: number;
}
