import type {
  DefinitionRow,
  DomainRow,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  JobRow,
  OffsetRow,
  OutboxRow,
  PayloadRow,
  RequestRow,
  SentRow,
} from "../store.ts";
import { namespaceColumn } from "../../base/namespace.ts";

/** A column that a statement writes, with its value in an item. */
export type Column<Item> =
  | { readonly type: "text"; readonly of: (item: Item) => string | null }
  | { readonly type: "integer"; readonly of: (item: Item) => number | null }
  | { readonly type: "boolean"; readonly of: (item: Item) => boolean };

/** Columns in the order of the statement's parameters. */
export type ColumnList<Item> = readonly Column<Item>[];

function text<Item>(of: (item: Item) => string | null): Column<Item> {
  return { type: "text", of };
}

function integer<Item>(of: (item: Item) => number | null): Column<Item> {
  return { type: "integer", of };
}

function boolean<Item>(of: (item: Item) => boolean): Column<Item> {
  return { type: "boolean", of };
}

export const integerKey: ColumnList<number> = [integer((key) => key)];
export const textKey: ColumnList<string> = [text((key) => key)];

export const instanceColumns: ColumnList<InstanceRow> = [
  integer((row) => row.key),
  text((row) => row.id),
  text((row) => row.workflow),
  text((row) => row.version),
  text((row) => row.status),
  integer((row) => row.generation),
  integer((row) => row.wakeAt),
  boolean((row) => row.active),
  integer((row) => row.waitingTasks),
  integer((row) => row.createdAt),
  integer((row) => row.updatedAt),
  text((row) => row.quarantined),
  text((row) => namespaceColumn(row.id)),
  text((row) => row.app),
  text((row) => row.history),
];

export const finishedColumns: ColumnList<FinishedRow> = [
  integer((row) => row.key),
  text((row) => row.id),
  text((row) => row.workflow),
  text((row) => row.version),
  text((row) => row.status),
  integer((row) => row.generation),
  text((row) => row.reason),
  integer((row) => row.createdAt),
  integer((row) => row.endedAt),
  integer((row) => row.tasks),
  integer((row) => row.tasksFailed),
  text((row) => namespaceColumn(row.id)),
  text((row) => row.app),
  text((row) => row.history),
];

export const historyColumns: ColumnList<HistoryRow> = [
  integer((row) => row.instance),
  integer((row) => row.turn),
  integer((row) => row.firstEvent),
  integer((row) => row.at),
  text((row) => row.events),
];

export const payloadColumns: ColumnList<PayloadRow> = [
  integer((row) => row.instance),
  integer((row) => row.ref),
  text((row) => row.body),
];

export const outboxColumns: ColumnList<OutboxRow> = [
  integer((row) => row.source),
  integer((row) => row.target),
  integer((row) => row.number),
  text((row) => row.body),
];

export const sentColumns: ColumnList<SentRow> = [
  integer((row) => row.source),
  integer((row) => row.target),
  integer((row) => row.number),
];

export const offsetColumns: ColumnList<OffsetRow> = [
  integer((row) => row.shard),
  integer((row) => row.source),
  integer((row) => row.number),
];

export const domainColumns: ColumnList<DomainRow> = [
  text((row) => row.name),
  integer((row) => row.size),
  integer((row) => row.priority),
];

export const requestColumns: ColumnList<RequestRow> = [
  integer((row) => row.shard),
  text((row) => row.idempotencyKey),
  integer((row) => row.at),
  text((row) => row.refusal),
];

export const definitionColumns: ColumnList<DefinitionRow> = [
  text((row) => row.name),
  text((row) => row.version),
  text((row) => row.spec),
  integer((row) => row.createdAt),
];

export const jobColumns: ColumnList<JobRow> = [
  text((row) => row.id),
  text((row) => row.name),
  text((row) => row.signature),
  text((row) => row.parameters),
  text((row) => row.codePath),
  text((row) => row.sourceHash),
  integer((row) => row.createdAt),
  integer((row) => row.updatedAt),
  boolean((row) => row.missing),
];

export const mailboxColumns: ColumnList<{ readonly mailbox: string; readonly body: string; readonly at: number }> = [
  text((row) => row.mailbox),
  text((row) => row.body),
  integer((row) => row.at),
];

export const logLineColumns: ColumnList<{ readonly topic: string; readonly at: number; readonly body: string }> = [
  text((row) => row.topic),
  integer((row) => row.at),
  text((row) => row.body),
];
