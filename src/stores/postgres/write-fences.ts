import { isNextBatch } from "../fence-check.ts";
import { Columns } from "../rows.ts";
import type { Row } from "../sql/sql-driver.ts";
import type { Fence } from "../store.ts";
import { bigints, booleans } from "./array-parameter.ts";
import type { BoundStatement } from "./pipeline.ts";
import type { PostgresStatements } from "./postgres-driver.ts";

/**
 * The first writes of a commit: they move its shards on if every fence holds, and otherwise undo the commit.
 *
 * Why an owner that was overtaken leaves nothing behind: the fence takes the lock of the shard's row, as a claim does,
 * and keeps it to the end of the transaction. If the claim has it, the fence waits, and then meets the new epoch; if
 * the fence has it, the claim waits, and then knows of the batch.
 */
export function writeFences(statements: PostgresStatements, fences: readonly Fence[]): BoundStatement[] {
  const shards = bigints(fences.map(({ shard }) => shard));
  const move: BoundStatement = {
    statement: statements.get("raise-batches"),
    values: [
      shards,
      bigints(fences.map(({ epoch }) => epoch)),
      bigints(fences.map(({ number }) => number)),
      bigints(fences.map(({ lastKey }) => lastKey)),
      booleans(fences.map(({ clean }) => clean)),
    ],
  };
  // One row alone has no order.
  return fences.length === 1 ? [move] : [{ statement: statements.get("lock-shards"), values: [shards] }, move];
}

/** What became of a commit whose fences did not hold: as `isNextBatch`, with the rows of `read-standings`. */
export function isNextAfterAll(fences: readonly Fence[], rows: readonly Row[]): boolean {
  const standings = new Map(
    rows.map((row) => {
      const columns = new Columns(row);
      return [columns.number("shard"), { epoch: columns.number("epoch"), batch: columns.number("batch") }];
    }),
  );
  return isNextBatch(fences, (shard) => standings.get(shard));
}
