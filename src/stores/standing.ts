/** State of a shard that fences are compared with. */
export interface Standing {
  readonly epoch: number;
  /** Number of the last batch that landed. */
  readonly lastBatch: number;
}
