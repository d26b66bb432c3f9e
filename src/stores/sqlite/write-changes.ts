import type { Changes, DefinitionRow, FinishedRow, InstanceRow, TaskRow, TrimRow } from "../store.ts";
import type { StatementName } from "../sql/statements.ts";
import type { SQLInputValue } from "node:sqlite";
import { toDisk, toDiskOrNull } from "../text.ts";

/** The part of the statements that writes need. */
export interface StatementRunner {
  get(name: StatementName): { run(...values: readonly SQLInputValue[]): unknown };
}

/**
 * The hottest path of the program: one prepared statement per row, values bound by position, nothing built in between.
 * The order is that of `Changes`.
 */
export function writeChanges(to: StatementRunner, changes: Changes): void {
  for (const key of changes.purged) purge(to, key);
  for (const row of changes.trims) trim(to, row);
  for (const row of changes.definitions) writeDefinition(to, row);
  for (const row of changes.instances) saveInstance(to, row);
  for (const key of changes.instancesEnded) to.get("delete-instance").run(key);
  for (const row of changes.finished) saveFinished(to, row);
  for (const key of changes.finishedReopened) to.get("delete-finished").run(key);
  for (const row of changes.history) {
    to.get("insert-history").run(row.instance, row.turn, row.firstEvent, row.at, toDisk(row.events));
  }
  for (const row of changes.tasks) saveTask(to, row);
  for (const row of changes.payloads) to.get("insert-payload").run(row.instance, row.ref, toDisk(row.body));
  for (const row of changes.outbox) to.get("insert-outbox").run(row.source, row.target, row.number, toDisk(row.body));
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
  to.get("delete-tasks").run(key);
  to.get("delete-payloads").run(key);
}

function trim(to: StatementRunner, { instance, turn, ref }: TrimRow): void {
  to.get("trim-history").run(instance, turn);
  to.get("delete-tasks").run(instance);
  to.get("trim-payloads").run(instance, ref);
}

function saveInstance(to: StatementRunner, row: InstanceRow): void {
  to.get("save-instance").run(
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
  );
}

function saveFinished(to: StatementRunner, row: FinishedRow): void {
  to.get("save-finished").run(
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
  );
}

function saveTask(to: StatementRunner, row: TaskRow): void {
  to.get("save-task").run(
    row.instance,
    row.task,
    row.attempt,
    toDisk(row.name),
    row.type,
    row.status,
    toDiskOrNull(row.worker),
    row.startedAt,
    row.endedAt,
    row.retryCount,
    toDiskOrNull(row.error),
  );
}

function writeDefinition(to: StatementRunner, row: DefinitionRow): void {
  to.get("insert-definition").run(toDisk(row.name), toDisk(row.version), toDisk(row.spec), row.createdAt);
}
