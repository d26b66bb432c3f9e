import type { Changes, DefinitionRow, DomainRow, FinishedRow, InstanceRow, JobRow, TaskRow } from "../store.ts";
import { bigints, booleans, texts } from "./array-parameter.ts";
import type { Statement, Step, Value } from "./pipeline.ts";
import type { Statements } from "./statements.ts";

/** The hottest path of the program: one statement per table, with a whole column in each value. The order is that of `Changes`. */
export function writeChanges(to: Statements, changes: Changes): Step[] {
  const steps: Step[] = [];
  const write = <Change>(
    rows: readonly Change[],
    statement: Statement,
    values: (rows: readonly Change[]) => readonly Value[],
  ): void => {
    if (rows.length > 0) steps.push({ statement, values: values(rows) });
  };
  // A new table with rows of an instance must be added here; the contract's purge suite looks for what is left.
  for (const statement of [to.deleteInstance, to.deleteFinished, to.deleteHistory, to.deleteTasks, to.deletePayloads]) {
    write(changes.purged, statement, keys);
  }
  write(changes.trims, to.trimHistory, (rows) => [
    bigints(rows.map((row) => row.instance)),
    bigints(rows.map((row) => row.turn)),
  ]);
  write(changes.trims, to.deleteTasks, (rows) => [bigints(rows.map((row) => row.instance))]);
  write(changes.trims, to.trimPayloads, (rows) => [
    bigints(rows.map((row) => row.instance)),
    bigints(rows.map((row) => row.ref)),
  ]);
  write(changes.definitions, to.insertDefinition, definitionColumns);
  write(changes.instances, to.saveInstance, instanceColumns);
  write(changes.instancesEnded, to.deleteInstance, keys);
  write(changes.finished, to.saveFinished, finishedColumns);
  write(changes.finishedReopened, to.deleteFinished, keys);
  write(changes.history, to.insertHistory, (rows) => [
    bigints(rows.map((row) => row.instance)),
    bigints(rows.map((row) => row.turn)),
    bigints(rows.map((row) => row.firstEvent)),
    bigints(rows.map((row) => row.at)),
    texts(rows.map((row) => row.events)),
  ]);
  write(changes.tasks, to.saveTask, taskColumns);
  write(changes.payloads, to.insertPayload, (rows) => [
    bigints(rows.map((row) => row.instance)),
    bigints(rows.map((row) => row.ref)),
    texts(rows.map((row) => row.body)),
  ]);
  write(changes.outbox, to.insertOutbox, (rows) => [
    bigints(rows.map((row) => row.source)),
    bigints(rows.map((row) => row.target)),
    bigints(rows.map((row) => row.number)),
    texts(rows.map((row) => row.body)),
  ]);
  for (const statement of [to.saveOffset, to.deleteOutbox]) {
    write(changes.offsets, statement, (rows) => [
      bigints(rows.map((row) => row.shard)),
      bigints(rows.map((row) => row.source)),
      bigints(rows.map((row) => row.number)),
    ]);
  }
  write(changes.domains, to.saveDomain, domainColumns);
  write(changes.requests, to.insertRequest, (rows) => [
    bigints(rows.map((row) => row.shard)),
    texts(rows.map((row) => row.key)),
    bigints(rows.map((row) => row.at)),
    texts(rows.map((row) => row.refusal)),
  ]);
  write(changes.requestsForgotten, to.forgetRequests, (rows) => [
    bigints(rows.map((row) => row.shard)),
    bigints(rows.map((row) => row.before)),
  ]);
  return steps;
}

function keys(rows: readonly number[]): Value[] {
  return [bigints(rows)];
}

function instanceColumns(rows: readonly InstanceRow[]): Value[] {
  return [
    bigints(rows.map((row) => row.key)),
    texts(rows.map((row) => row.id)),
    texts(rows.map((row) => row.workflow)),
    texts(rows.map((row) => row.version)),
    texts(rows.map((row) => row.status)),
    bigints(rows.map((row) => row.generation)),
    bigints(rows.map((row) => row.wake)),
    booleans(rows.map((row) => row.active)),
    bigints(rows.map((row) => row.waiting)),
    bigints(rows.map((row) => row.createdAt)),
    bigints(rows.map((row) => row.updatedAt)),
    texts(rows.map((row) => row.quarantined)),
  ];
}

function finishedColumns(rows: readonly FinishedRow[]): Value[] {
  return [
    bigints(rows.map((row) => row.key)),
    texts(rows.map((row) => row.id)),
    texts(rows.map((row) => row.workflow)),
    texts(rows.map((row) => row.version)),
    texts(rows.map((row) => row.status)),
    bigints(rows.map((row) => row.generation)),
    texts(rows.map((row) => row.reason)),
    bigints(rows.map((row) => row.createdAt)),
    bigints(rows.map((row) => row.endedAt)),
    bigints(rows.map((row) => row.tasks)),
    bigints(rows.map((row) => row.tasksFailed)),
  ];
}

function taskColumns(rows: readonly TaskRow[]): Value[] {
  return [
    bigints(rows.map((row) => row.instance)),
    bigints(rows.map((row) => row.task)),
    bigints(rows.map((row) => row.attempt)),
    texts(rows.map((row) => row.name)),
    bigints(rows.map((row) => row.type)),
    texts(rows.map((row) => row.status)),
    texts(rows.map((row) => row.worker)),
    bigints(rows.map((row) => row.startedAt)),
    bigints(rows.map((row) => row.endedAt)),
    bigints(rows.map((row) => row.retryCount)),
    texts(rows.map((row) => row.error)),
  ];
}

export function domainColumns(rows: readonly DomainRow[]): Value[] {
  return [
    texts(rows.map((row) => row.name)),
    bigints(rows.map((row) => row.size)),
    bigints(rows.map((row) => row.priority)),
  ];
}

export function definitionColumns(rows: readonly DefinitionRow[]): Value[] {
  return [
    texts(rows.map((row) => row.name)),
    texts(rows.map((row) => row.version)),
    texts(rows.map((row) => row.spec)),
    bigints(rows.map((row) => row.createdAt)),
  ];
}

export function lineColumns(rows: readonly { topic: string; at: number; body: string }[]): Value[] {
  return [texts(rows.map((row) => row.topic)), bigints(rows.map((row) => row.at)), texts(rows.map((row) => row.body))];
}

export function jobColumns(rows: readonly JobRow[]): Value[] {
  return [
    texts(rows.map((row) => row.id)),
    texts(rows.map((row) => row.name)),
    texts(rows.map((row) => row.signature)),
    texts(rows.map((row) => row.parameters)),
    texts(rows.map((row) => row.codePath)),
    texts(rows.map((row) => row.sourceHash)),
    bigints(rows.map((row) => row.createdAt)),
    bigints(rows.map((row) => row.updatedAt)),
    booleans(rows.map((row) => row.missing)),
  ];
}
