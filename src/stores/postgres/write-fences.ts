import { isNextBatch } from "../fence-check.ts";
import { Columns } from "../rows.ts";
import type { Row } from "../sql/sql-driver.ts";
import type { Fence } from "../store.ts";
import { bigints, booleans } from "./array-parameter.ts";
import type { BoundStatement } from "./pipeline.ts";
import type { PostgresStatements } from "./postgres-statements.ts";

/**
 * Returns the first statements of a commit, which raise the batches of its shards if every fence holds, and otherwise roll
 * back.
 *
 * A fenced owner writes nothing: the fence locks the shard's row, as a claim does, until the transaction ends. If the claim
 * has the lock, the fence waits and then finds the new epoch; if the fence has it, the claim waits and then sees the batch.
 */
export function writeFences(statements: PostgresStatements, fences: readonly Fence[]): BoundStatement[] {
  const shards = bigints(fences, ({ shard }) => shard);
  const move: BoundStatement = {
    statement: statements.get("raise-batches"),
    values: [
      shards,
      bigints(fences, ({ epoch }) => epoch),
      bigints(fences, ({ number }) => number),
      bigints(fences, ({ lastKey }) => lastKey),
      booleans(fences, ({ released }) => released),
    ],
  };
  // A single row needs no lock order.
  return fences.length === 1 ? [move] : [{ statement: statements.get("lock-shards"), values: [shards] }, move];
}

/** Evaluates a commit whose fences did not hold: `isNextBatch` with the rows of `load-standings`. */
export function isNextAfterAll(fences: readonly Fence[], rows: readonly Row[]): boolean {
  const standings = new Map(
    rows.map((row) => {
      const columns = new Columns(row);
      return [columns.number("shard"), { epoch: columns.number("epoch"), lastBatch: columns.number("lastBatch") }];
    }),
  );
  return isNextBatch(fences, (shard) => standings.get(shard));
}
