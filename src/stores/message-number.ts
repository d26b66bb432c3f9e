/**
 * Numbers of messages begin anew with each incarnation of the store, above all that were ever given out: an incarnation is a
 * time in seconds, and no shard sends a million messages a second to another. The sum stays below 2^53 until the year 2242.
 */
const numbersPerSecond = 2 ** 20;

/** Returns the number before that of the first message between two shards. */
export function numberBefore(incarnation: number): number {
  return incarnation * numbersPerSecond;
}
