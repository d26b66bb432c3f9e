import { isNextBatch } from "../fence-check.ts";
import { Columns } from "../rows.ts";
import type { Fence } from "../store.ts";
import { bigints, booleans } from "./array-parameter.ts";
import type { Row, Step } from "./pipeline.ts";
import type { Statements } from "./statements.ts";

/**
 * The first writes of a commit: they move its shards on if every fence holds, and otherwise undo the commit.
 *
 * Why an owner that was overtaken leaves nothing behind: the fence takes the lock of the shard's row, as a claim does,
 * and keeps it to the end of the transaction. If the claim has it, the fence waits, and then meets the new epoch; if
 * the fence has it, the claim waits, and then knows of the batch.
 */
export function writeFences({ lockShards, fence }: Statements, fences: readonly Fence[]): Step[] {
  const shards = bigints(fences.map(({ shard }) => shard));
  const move: Step = {
    statement: fence,
    values: [
      shards,
      bigints(fences.map(({ epoch }) => epoch)),
      bigints(fences.map(({ number }) => number)),
      bigints(fences.map(({ lastKey }) => lastKey)),
      booleans(fences.map(({ clean }) => clean)),
    ],
  };
  // One row alone has no order.
  return fences.length === 1 ? [move] : [{ statement: lockShards, values: [shards] }, move];
}

export function readStandings({ readShards }: Statements, fences: readonly Fence[]): Step {
  return { statement: readShards, values: [bigints(fences.map(({ shard }) => shard))] };
}

/** What became of a commit whose fences did not hold: as `isNextBatch`, with the rows that `readStandings` gives. */
export function isNextAfterAll(fences: readonly Fence[], rows: readonly Row[]): boolean {
  const standings = new Map(
    rows.map((row) => {
      const columns = new Columns(row);
      return [columns.number("shard"), { epoch: columns.number("epoch"), batch: columns.number("batch") }];
    }),
  );
  return isNextBatch(fences, (shard) => standings.get(shard));
}
