import type { Fence, ShardClaim } from "../stores/store.ts";
import { firstKey } from "../stores/instance-key.ts";

/**
 * The epoch and batch number that the owner of a shard presents with its commits. It is good for one claim: the next
 * owner gets another.
 */
export class FencingToken {
  readonly shard: number;
  readonly epoch: number;
  readonly incarnation: number;
  /** The number of the last batch that landed. */
  batch: number;
  /** The highest instance key ever given out. */
  lastKey: number;
  /** The commit in which the committer last counted it. */
  lastCommit = 0;

  constructor(shard: number, claim: ShardClaim) {
    this.shard = shard;
    this.epoch = claim.epoch;
    this.incarnation = claim.incarnation;
    this.batch = claim.lastBatch;
    this.lastKey = Math.max(claim.lastKey, firstKey(shard) - 1);
  }

  newKey(): number {
    return ++this.lastKey;
  }

  fence(released: boolean): Fence {
    return { shard: this.shard, epoch: this.epoch, number: this.batch + 1, lastKey: this.lastKey, released };
  }
}
