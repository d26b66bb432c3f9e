import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import { isNextBatch } from "../fence-check.ts";
import { Columns } from "../rows.ts";
import type { Deadline } from "../sql/deadline.ts";
import type { Standing } from "../standing.ts";
import type { Fence } from "../store.ts";
import type { Connection } from "./connection.ts";
import { isFenceError } from "./faults.ts";
import { flag, join, list, type Literal, sql, whole } from "./literal.ts";
import { settings } from "./script.ts";
import { statements } from "./statement.ts";

/**
 * Returns the first statements of a commit, which raise the batches of its shards if every fence holds, and otherwise stop
 * the statements after them.
 *
 * A fenced owner writes nothing: the fence locks the shard's row, as a claim does, until the transaction ends. If the claim
 * has the lock, the fence waits and then finds the new epoch; if the fence has it, the claim waits and then sees the batch.
 */
export function writeFences(fences: readonly Fence[]): Literal[] {
  assert(fences.length > 0, "a batch has a fence for each shard that it writes");
  const each = (toSql: (fence: Fence) => Literal): Literal[] => fences.map(toSql);
  const held = each(
    ({ shard, epoch, number }) =>
      sql`shard = ${whole(shard)} AND epoch = ${whole(epoch)} AND last_batch = ${whole(number - 1)}`,
  );
  return [
    statements.get("raise-batches").with(
      join(
        each(({ shard, lastKey }) => sql`WHEN ${whole(shard)} THEN ${whole(lastKey)}`),
        sql` `,
      ),
      join(
        each(({ shard, released }) => sql`WHEN ${whole(shard)} THEN ${flag(released)}`),
        sql` `,
      ),
      list(each(({ shard }) => whole(shard))),
      join(held, sql` OR `),
    ),
    statements.get("check-fences").with(whole(fences.length)),
  ];
}

/**
 * Sends a commit. If its fences do not hold, nothing of it is written, and the state of its shards tells why: it had landed
 * and its answer was lost, or shards have another owner. If the batch before it has landed meanwhile, the commit is the next
 * after all, and has to be sent again.
 */
export async function land(
  connection: Connection,
  commit: { readonly packets: readonly string[]; readonly fences: readonly Fence[]; readonly deadline: Deadline },
): Promise<void> {
  const { packets, fences, deadline } = commit;
  try {
    for (const packet of packets) await connection.send(packet, deadline.leftMs);
  } catch (error) {
    if (!isFenceError(error)) throw error;
    const standings = await readStandings(connection, fences, deadline.leftMs);
    if (!isNextBatch(fences, (shard) => standings.get(shard))) return;
    throw new EngineError("STORE_UNAVAILABLE", "a batch came before the one that precedes it; send it again");
  }
}

async function readStandings(
  connection: Connection,
  fences: readonly Fence[],
  limitMs: number,
): Promise<Map<number, Standing>> {
  const shards = list(fences.map(({ shard }) => whole(shard)));
  const results = await connection.send(
    `ROLLBACK;${settings};${statements.get("load-standings").with(shards)}`,
    limitMs,
  );
  const rows = results.at(-1);
  assert(Array.isArray(rows), "standings are rows");
  return new Map(
    rows.map((row) => {
      const columns = new Columns(row);
      return [columns.number("shard"), { epoch: columns.number("epoch"), lastBatch: columns.number("lastBatch") }];
    }),
  );
}
