import { assert } from "../../base/assert.ts";
import { isNextBatch } from "../fence-check.ts";
import type { Fence } from "../store.ts";
import { Columns } from "../rows.ts";
import type { SqliteStatements } from "./sqlite-driver.ts";

/**
 * Raises the batch of every shard whose fence holds: the first writes of a commit. False, and nothing is written, if the
 * batch had landed. Throws `Fenced` if a shard is lost; the transaction is then rolled back.
 */
export function writeFences(to: SqliteStatements, fences: readonly Fence[]): boolean {
  let held = 0;
  for (const { number, lastKey, released, shard, epoch } of fences) {
    if (to.get("raise-batches").run(number, lastKey, released ? 1 : 0, shard, epoch).changes !== 1) break;
    held += 1;
  }
  if (held > 0 && held === fences.length) return true;
  // Fences that held have changed their rows, so only the others can still be compared.
  const isNext = isNextBatch(fences.slice(held), (shard) => {
    const row = to.get("find-shard").get(shard);
    if (row === undefined) return undefined;
    const columns = new Columns(row);
    return { epoch: columns.number("epoch"), lastBatch: columns.number("lastBatch") };
  });
  assert(held === 0 && !isNext, "a batch landed for all of its shards or for none");
  return false;
}
