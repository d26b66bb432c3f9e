import { assert } from "../../base/assert.ts";
import { isNextBatch } from "../fence-check.ts";
import type { Fence } from "../store.ts";
import { Columns } from "../rows.ts";
import type { SqliteStatements } from "./sqlite-driver.ts";

/**
 * The first writes of a commit: each moves its shard on if the fence holds. False, and nothing is written, if the batch
 * had landed. Throws `Fenced` if a shard is lost; what the other fences wrote is then undone with the transaction.
 */
export function writeFences(to: SqliteStatements, fences: readonly Fence[]): boolean {
  let held = 0;
  for (const { number, lastKey, clean, shard, epoch } of fences) {
    if (to.get("raise-batches").run(number, lastKey, clean ? 1 : 0, shard, epoch).changes !== 1) break;
    held += 1;
  }
  if (held > 0 && held === fences.length) return true;
  // The fences that held have changed their rows, so only the others can still be asked.
  const isNext = isNextBatch(fences.slice(held), (shard) => {
    const row = to.get("read-shard").get(shard);
    if (row === undefined) return undefined;
    const columns = new Columns(row);
    return { epoch: columns.number("epoch"), batch: columns.number("batch") };
  });
  assert(held === 0 && !isNext, "a batch landed for all of its shards or for none");
  return false;
}
