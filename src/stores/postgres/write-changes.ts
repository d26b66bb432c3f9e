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
import type { StatementName } from "../sql/statements.ts";
import type { Changes } from "../store.ts";
import { bigints } from "./array-parameter.ts";
import type { BoundStatement } from "./pipeline.ts";
import { arraysOf } from "./wire-columns.ts";
import type { PostgresStatements } from "./postgres-statements.ts";

/** The hottest path of the store: one statement per table, with a whole column in each value, in the order of `Changes`. */
export function writeChanges(statements: PostgresStatements, changes: Changes): BoundStatement[] {
  const steps: BoundStatement[] = [];
  const write = <Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): void => {
    if (items.length > 0) steps.push({ statement: statements.get(name), values: arraysOf(columns, items) });
  };
  // A new table with rows of an instance must be added here; the contract's purge suite looks for rows that are left.
  write("delete-instance", integerKey, changes.purged);
  write("delete-finished", integerKey, changes.purged);
  write("delete-history", integerKey, changes.purged);
  write("delete-payloads", integerKey, changes.purged);
  if (changes.trims.length > 0) steps.push(...trim(statements, changes.trims));
  write("insert-definition", definitionColumns, changes.definitions);
  write("save-instance", instanceColumns, changes.instances);
  write("delete-instance", integerKey, changes.instancesEnded);
  write("save-finished", finishedColumns, changes.finished);
  write("delete-finished", integerKey, changes.finishedReopened);
  write("insert-history", historyColumns, changes.history);
  write("insert-payload", payloadColumns, changes.payloads);
  write("insert-outbox", outboxColumns, changes.outbox);
  write("save-sent", sentColumns, lastSent(changes.outbox));
  write("save-offset", offsetColumns, changes.offsets);
  write("delete-outbox", offsetColumns, changes.offsets);
  write("save-domain", domainColumns, changes.domains);
  write("insert-request", requestColumns, changes.requests);
  if (changes.requestsForgotten.length > 0) {
    const shards = bigints(changes.requestsForgotten, ({ shard }) => shard);
    const before = bigints(changes.requestsForgotten, (row) => row.before);
    steps.push({ statement: statements.get("forget-requests"), values: [shards, before] });
  }
  return steps;
}

function trim(statements: PostgresStatements, trims: Changes["trims"]): BoundStatement[] {
  const instances = bigints(trims, ({ instance }) => instance);
  const turns = bigints(trims, ({ turn }) => turn);
  const refs = bigints(trims, ({ ref }) => ref);
  return [
    { statement: statements.get("trim-history"), values: [instances, turns] },
    { statement: statements.get("trim-payloads"), values: [instances, refs] },
  ];
}
