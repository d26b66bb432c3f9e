import { assert } from "../base/assert.ts";

/**
 * An instance key is its shard and a counter that the shard's owner assigns, in one whole number: `shard * 2^40 +
 * counter`, with the counter from 1. So the keys of a shard are one range, in the order the instances were made.
 */
const keysPerShard = 2 ** 40;

/** Highest shard: keys of a higher one would pass 2^53 and lose their last bits. */
const shardMax = 2 ** 13 - 1;

/** A fixed hash: which shard an id belongs to must never change. */
export function shardOfId(id: string, shardCount: number): number {
  if (shardCount === 1) return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % shardCount;
}

export function shardOfKey(key: number): number {
  return Math.floor(key / keysPerShard);
}

/** The key of the first instance that a shard makes. */
export function firstKey(shard: number): number {
  assert(Number.isInteger(shard) && shard >= 0 && shard <= shardMax, "a shard is a whole number from 0 to 8191");
  return shard * keysPerShard + 1;
}

/** The highest key that a shard can assign. */
export function lastKeyOf(shard: number): number {
  // The sum starts below the first key, because for the last shard it would pass 2^53 otherwise.
  return firstKey(shard) - 1 + (keysPerShard - 1);
}
