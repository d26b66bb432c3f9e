import type { Changes, DefinitionRow, FinishedRow, InstanceRow, TrimRow } from "../store.ts";
import type { StatementName } from "../sql/statements.ts";
import type { SQLInputValue } from "node:sqlite";
import { lastSent } from "../last-sent.ts";
import { toDisk, toDiskOrNull } from "../text.ts";
import { namespaceColumn } from "../../base/namespace.ts";

/** The part of the statements that writes need. */
export interface StatementRunner {
  get(name: StatementName): RowWriter;
}

interface RowWriter {
  run(...values: readonly SQLInputValue[]): unknown;
}

/**
 * The hottest path of the program: one prepared statement per row, values bound by position, nothing built in between.
 * The order is that of `Changes`.
 */
export function writeChanges(to: StatementRunner, changes: Changes): void {
  for (const key of changes.purged) purge(to, key);
  for (const row of changes.trims) trim(to, row);
  for (const row of changes.definitions) writeDefinition(to, row);
  saveInstances(to.get("save-instance"), changes.instances);
  const deleteInstance = to.get("delete-instance");
  for (const key of changes.instancesEnded) deleteInstance.run(key);
  saveFinished(to.get("save-finished"), changes.finished);
  for (const key of changes.finishedReopened) to.get("delete-finished").run(key);
  const insertHistory = to.get("insert-history");
  for (const { instance, turn, firstEvent, at, events } of changes.history) {
    insertHistory.run(instance, turn, firstEvent, at, toDisk(events));
  }
  for (const row of changes.payloads) to.get("insert-payload").run(row.instance, row.ref, toDisk(row.body));
  for (const row of changes.outbox) to.get("insert-outbox").run(row.source, row.target, row.number, toDisk(row.body));
  for (const row of lastSent(changes.outbox)) to.get("save-sent").run(row.source, row.target, row.number);
  for (const row of changes.offsets) {
    to.get("save-offset").run(row.shard, row.source, row.number);
    to.get("delete-outbox").run(row.shard, row.source, row.number);
  }
  for (const { name, size, priority } of changes.domains) to.get("save-domain").run(toDisk(name), size, priority);
  for (const row of changes.requests) {
    to.get("insert-request").run(row.shard, toDisk(row.idempotencyKey), row.at, toDiskOrNull(row.refusal));
  }
  for (const { shard, before } of changes.requestsForgotten) to.get("forget-requests").run(shard, before);
}

/** A new table with rows of an instance must be added here; the contract's purge suite looks for rows that are left. */
function purge(to: StatementRunner, key: number): void {
  to.get("delete-instance").run(key);
  to.get("delete-finished").run(key);
  to.get("delete-history").run(key);
  to.get("delete-payloads").run(key);
}

function trim(to: StatementRunner, { instance, turn, ref }: TrimRow): void {
  to.get("trim-history").run(instance, turn);
  to.get("trim-payloads").run(instance, ref);
}

function saveInstances(statement: RowWriter, rows: readonly InstanceRow[]): void {
  for (const row of rows) {
    statement.run(
      row.key,
      toDisk(row.id),
      toDisk(row.workflow),
      toDisk(row.version),
      row.status,
      row.generation,
      row.wakeAt,
      row.active ? 1 : 0,
      row.waitingTasks,
      row.createdAt,
      row.updatedAt,
      toDiskOrNull(row.quarantined),
      toDisk(namespaceColumn(row.id)),
      toDiskOrNull(row.app),
      toDiskOrNull(row.history),
    );
  }
}

function saveFinished(statement: RowWriter, rows: readonly FinishedRow[]): void {
  for (const row of rows) {
    statement.run(
      row.key,
      toDisk(row.id),
      toDisk(row.workflow),
      toDisk(row.version),
      row.status,
      row.generation,
      toDiskOrNull(row.reason),
      row.createdAt,
      row.endedAt,
      row.tasks,
      row.tasksFailed,
      toDisk(namespaceColumn(row.id)),
      toDiskOrNull(row.app),
      toDiskOrNull(row.history),
    );
  }
}

function writeDefinition(to: StatementRunner, row: DefinitionRow): void {
  to.get("insert-definition").run(toDisk(row.name), toDisk(row.version), toDisk(row.spec), row.createdAt);
}
