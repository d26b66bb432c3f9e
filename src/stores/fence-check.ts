import { assert } from "../base/assert.ts";
import { Fenced } from "./store.ts";
import type { Standing } from "./standing.ts";
import type { Fence } from "./store.ts";

/**
 * Evaluates the fences of a batch, in the same way for every store. True if the batch is the next of all its shards, false
 * if it had landed and its answer was lost. `Fenced` names all shards for which it is neither. `standingOf` returns
 * undefined for a shard that was never claimed.
 */
export function isNextBatch(fences: readonly Fence[], standingOf: (shard: number) => Standing | undefined): boolean {
  assert(fences.length > 0, "a batch has a fence for each shard that it writes");
  let next = 0;
  const lost: Fence[] = [];
  for (const fence of fences) {
    const standing = standingOf(fence.shard);
    const ahead = standing?.epoch === fence.epoch ? fence.number - standing.lastBatch : undefined;
    if (ahead === 1) next += 1;
    else if (ahead !== 0) lost.push(fence);
  }
  if (lost.length > 0) throw fencedError(lost, standingOf);
  assert(next === 0 || next === fences.length, "a batch landed for all of its shards or for none");
  return next > 0;
}

function fencedError(lost: readonly Fence[], standingOf: (shard: number) => Standing | undefined): Fenced {
  const sentences = lost.map(({ shard, epoch, number }) => {
    const standing = standingOf(shard);
    const found = standing ? `epoch ${standing.epoch} and batch ${standing.lastBatch}` : "no owner yet";
    return `batch ${number} of shard ${shard} under epoch ${epoch} was refused, because the shard has ${found}`;
  });
  return new Fenced(
    lost.map(({ shard }) => shard),
    sentences.join("; "),
    new Map(lost.map(({ shard }) => [shard, standingOf(shard)])),
  );
}
