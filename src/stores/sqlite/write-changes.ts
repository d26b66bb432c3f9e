import type {
  Changes,
  DefinitionRow,
  DocumentRow,
  FinishedRow,
  InstanceRow,
  JobRow,
  TaskRow,
  TrimRow,
} from "../store.ts";
import type { Statements } from "./statements.ts";
import { toDisk, toDiskOrNull } from "../text.ts";

/**
 * The hottest path of the program: one prepared statement per row, values bound by position, nothing built in between.
 * The order is that of `Changes`.
 */
export function writeChanges(to: Statements, changes: Changes): void {
  for (const key of changes.purged) purge(to, key);
  for (const row of changes.trims) trim(to, row);
  for (const row of changes.definitions) writeDefinition(to, row);
  for (const row of changes.instances) saveInstance(to, row);
  for (const key of changes.instancesEnded) to.deleteInstance.run(key);
  for (const row of changes.finished) saveFinished(to, row);
  for (const key of changes.finishedReopened) to.deleteFinished.run(key);
  for (const row of changes.history) {
    to.insertHistory.run(row.instance, row.turn, row.firstEvent, row.at, toDisk(row.events));
  }
  for (const row of changes.tasks) saveTask(to, row);
  for (const row of changes.payloads) to.insertPayload.run(row.instance, row.ref, toDisk(row.body));
  for (const row of changes.outbox) to.insertOutbox.run(row.source, row.target, row.number, toDisk(row.body));
  for (const row of changes.offsets) {
    to.saveOffset.run(row.shard, row.source, row.number);
    to.deleteOutbox.run(row.shard, row.source, row.number);
  }
  for (const { name, size, priority } of changes.domains) to.saveDomain.run(toDisk(name), size, priority);
  for (const row of changes.requests) {
    to.insertRequest.run(row.shard, toDisk(row.key), row.at, toDiskOrNull(row.refusal));
  }
  for (const { shard, before } of changes.requestsForgotten) to.forgetRequests.run(shard, before);
}

/** A new table with rows of an instance must be added here; the contract's purge suite looks for what is left. */
function purge(to: Statements, key: number): void {
  to.deleteInstance.run(key);
  to.deleteFinished.run(key);
  to.deleteHistory.run(key);
  to.deleteTasks.run(key);
  to.deletePayloads.run(key);
}

function trim(to: Statements, { instance, turn, ref }: TrimRow): void {
  to.trimHistory.run(instance, turn);
  to.deleteTasks.run(instance);
  to.trimPayloads.run(instance, ref);
}

function saveInstance(to: Statements, row: InstanceRow): void {
  to.saveInstance.run(
    row.key,
    toDisk(row.id),
    toDisk(row.workflow),
    toDisk(row.version),
    row.status,
    row.generation,
    row.wake,
    row.active ? 1 : 0,
    row.waiting,
    row.createdAt,
    row.updatedAt,
    toDiskOrNull(row.quarantined),
  );
}

function saveFinished(to: Statements, row: FinishedRow): void {
  to.saveFinished.run(
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

function saveTask(to: Statements, row: TaskRow): void {
  to.saveTask.run(
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

export function writeDefinition(to: Statements, row: DefinitionRow): void {
  to.insertDefinition.run(toDisk(row.name), toDisk(row.version), toDisk(row.spec), row.createdAt);
}

/** False, and nothing is written, if its revision is not the next. */
export function writeDocument(to: Statements, row: DocumentRow): boolean {
  const statement = row.revision === 1 ? to.insertDocument : to.updateDocument;
  return statement.run(toDisk(row.kind), toDisk(row.name), row.revision, row.at, toDisk(row.body)).changes === 1;
}

export function writeJob(to: Statements, row: JobRow): void {
  to.saveJob.run(
    toDisk(row.id),
    toDisk(row.name),
    toDisk(row.signature),
    toDisk(row.parameters),
    toDiskOrNull(row.codePath),
    toDisk(row.sourceHash),
    row.createdAt,
    row.updatedAt,
    row.missing ? 1 : 0,
  );
}
