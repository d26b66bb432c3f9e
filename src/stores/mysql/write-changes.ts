import { lastSent } from "../last-sent.ts";
import {
  type ColumnList,
  definitionColumns,
  domainColumns,
  finishedColumns,
  historyColumns,
  instanceColumns,
  integerKey,
  offsetColumns,
  outboxColumns,
  payloadColumns,
  requestColumns,
  sentColumns,
} from "../sql/columns.ts";
import { inKeyOrder } from "../sql/key-order.ts";
import type { StatementName } from "../sql/statements.ts";
import type { Changes, OffsetRow, TrimRow } from "../store.ts";
import { join, rowsOf, sql, whole } from "./literal.ts";
import { rowsPerStatementMax, Script } from "./script.ts";
import { statements } from "./statement.ts";

/** One statement for all rows of a table, in the order of `Changes`. */
export function writeChanges(changes: Changes): Script {
  const script = new Script();
  const write = <Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): void =>
    script.add(statements.get(name), rowsOf(columns, items));
  purge(script, changes.purged);
  trim(script, changes.trims);
  write(
    "insert-definition",
    definitionColumns,
    inKeyOrder(changes.definitions, ({ name }) => name),
  );
  write("save-instance", instanceColumns, changes.instances);
  write("delete-instance", integerKey, changes.instancesEnded);
  write("save-finished", finishedColumns, changes.finished);
  write("delete-finished", integerKey, changes.finishedReopened);
  write("insert-history", historyColumns, changes.history);
  write("insert-payload", payloadColumns, changes.payloads);
  write("insert-outbox", outboxColumns, changes.outbox);
  write("save-sent", sentColumns, lastSent(changes.outbox));
  write("save-offset", offsetColumns, changes.offsets);
  deleteConsumed(script, changes.offsets);
  write(
    "save-domain",
    domainColumns,
    inKeyOrder(changes.domains, ({ name }) => name),
  );
  write("insert-request", requestColumns, changes.requests);
  for (const { shard, before } of changes.requestsForgotten) {
    script.add(statements.get("forget-requests"), [sql`shard = ${whole(shard)} AND at < ${whole(before)}`]);
  }
  return script;
}

/** A new table with rows of an instance must be added here; the contract's purge suite looks for what is left. */
function purge(script: Script, instances: readonly number[]): void {
  const keys = instances.map(whole);
  script.add(statements.get("delete-instance"), keys);
  script.add(statements.get("delete-finished"), keys);
  script.add(statements.get("delete-history"), keys);
  script.add(statements.get("delete-payloads"), keys);
}

function trim(script: Script, trims: readonly TrimRow[]): void {
  const bounds = trims.map(({ instance, turn, ref }) => sql`[${whole(instance)},${whole(turn)},${whole(ref)}]`);
  script.add(statements.get("trim-history"), bounds);
  script.add(statements.get("trim-payloads"), bounds);
}

/** Messages are found and deleted by two statements, which belong together. */
function deleteConsumed(script: Script, offsets: readonly OffsetRow[]): void {
  for (let from = 0; from < offsets.length; from += rowsPerStatementMax) {
    const passed = offsets
      .slice(from, from + rowsPerStatementMax)
      .map(
        ({ shard, source, number }) =>
          sql`(target = ${whole(shard)} AND source = ${whole(source)} AND number <= ${whole(number)})`,
      );
    script.add(statements.get("find-outbox"), [join(passed, sql` OR `)]);
    script.add(statements.get("delete-outbox"), [sql``]);
  }
}
