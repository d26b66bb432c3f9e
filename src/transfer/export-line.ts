import type {
  DefinitionRow,
  DocumentRow,
  DomainRow,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  JobRow,
  OutboxRow,
  PayloadRow,
} from "../stores/store.ts";

export const formatName = "heddle-export";
export const formatVersion = 2;

/** An instance in the list that precedes all instances: new keys must be known before rows refer to them. */
export interface KeyRow {
  readonly key: number;
  readonly createdAt: number;
  readonly id: string;
}

/** Rows of instances. Turns are lines of their own, wherever a store has them. */
export type UnfinishedHead = Omit<InstanceRow, "history">;
export type FinishedHead = Omit<FinishedRow, "history">;

/** Rows of the instance whose row came last. */
export type TurnRow = Omit<HistoryRow, "instance">;
export type ValueRow = Omit<PayloadRow, "instance">;

/** Rows of an export, by the kind of their line. */
export interface Rows {
  readonly jobs: JobRow;
  readonly domains: DomainRow;
  readonly documents: DocumentRow;
  readonly keys: KeyRow;
  /** One instance per line, followed by its parts. */
  readonly unfinished: UnfinishedHead;
  readonly finished: FinishedHead;
  readonly history: TurnRow;
  readonly payloads: ValueRow;
  readonly messages: OutboxRow;
  /** Definitions by name, in the order they were saved. */
  readonly definitions: DefinitionRow;
}

export type RowKind = keyof Rows;
export type PartKind = "history" | "payloads";
export type RowsLine = {
  readonly [Kind in RowKind]: { readonly kind: Kind; readonly rows: readonly Rows[Kind][] };
}[RowKind];

export interface Header {
  readonly kind: "header";
  readonly format: string;
  readonly version: number;
  /** Number of shards of the exported store. */
  readonly shards: number;
  /** Last owner of the shards; empty if they had several. */
  readonly owner: string;
  /** All shards were released, so no attempt was running. */
  readonly released: boolean;
}

/** Ends an instance, with counts and a hash of its parts. */
export interface Closed extends Readonly<Record<PartKind, number>> {
  readonly kind: "closed";
  readonly sha256: string;
}

export interface End {
  readonly kind: "end";
  /** Number of lines before this one. */
  readonly lines: number;
  readonly rows: RowCounts;
  /** Hash of all lines before this one, with their line breaks. */
  readonly sha256: string;
}

export type RowCounts = Readonly<Record<RowKind, number>>;
export type Line = Header | RowsLine | Closed | End;

type Field = "text" | "number" | "boolean" | "text or null" | "number or null";
type Shape<Row> = { readonly [Name in keyof Row]-?: Field };

const text = "text";
const number = "number";
const boolean = "boolean";
const textOrNull = "text or null";
const numberOrNull = "number or null";

/** The fields of each row, in the order they are written. A field that is added to a row has to be added here. */
export const shapes: { readonly [Kind in RowKind]: Shape<Rows[Kind]> } = {
  jobs: {
    id: text,
    name: text,
    signature: text,
    parameters: text,
    codePath: textOrNull,
    sourceHash: text,
    createdAt: number,
    updatedAt: number,
    missing: boolean,
  },
  domains: { name: text, size: number, priority: number },
  documents: { kind: text, name: text, revision: number, at: number, body: text },
  keys: { key: number, createdAt: number, id: text },
  unfinished: {
    key: number,
    id: text,
    workflow: text,
    version: text,
    status: text,
    generation: number,
    wakeAt: numberOrNull,
    active: boolean,
    waitingTasks: number,
    createdAt: number,
    updatedAt: number,
    quarantined: textOrNull,
    app: textOrNull,
  },
  finished: {
    key: number,
    id: text,
    workflow: text,
    version: text,
    status: text,
    generation: number,
    reason: textOrNull,
    createdAt: number,
    endedAt: number,
    tasks: number,
    tasksFailed: number,
    app: textOrNull,
  },
  history: { turn: number, firstEvent: number, at: number, events: text },
  payloads: { ref: number, body: text },
  messages: { source: number, target: number, number, body: text },
  definitions: { name: text, version: text, spec: text, createdAt: number },
};

export const rowKinds = Object.keys(shapes) as RowKind[];

/** Copies the fields of a row in a fixed order, so that rows of every store make the same text. */
export function inShape<Kind extends RowKind>(kind: Kind, row: Rows[Kind]): Rows[Kind] {
  const shaped: Partial<Rows[Kind]> = {};
  for (const name of Object.keys(shapes[kind]) as (keyof Rows[Kind])[]) shaped[name] = row[name];
  return shaped as Rows[Kind];
}

/** Describes what is wrong with a row; undefined if nothing is. */
export function misshapen(kind: RowKind, row: unknown): string | undefined {
  if (typeof row !== "object" || row === null) return `holds something that is no row of ${kind}`;
  const shape: Readonly<Record<string, Field>> = shapes[kind];
  const unknown = Object.keys(row).find((name) => !Object.hasOwn(shape, name));
  if (unknown !== undefined) return `has a row of ${kind} with a field "${unknown}", which is not known`;
  const values = row as Readonly<Record<string, unknown>>;
  const wrong = Object.keys(shape).find((name) => !fits(values[name], shape[name] as Field));
  return wrong === undefined ? undefined : `has a row of ${kind} whose field "${wrong}" is not ${shape[wrong]}`;
}

function fits(value: unknown, field: Field): boolean {
  if (value === null) return field === "text or null" || field === "number or null";
  if (typeof value === "string") return field === "text" || field === "text or null";
  if (typeof value === "number")
    return Number.isSafeInteger(value) && (field === "number" || field === "number or null");
  return typeof value === "boolean" && field === "boolean";
}

export function noRows(): Record<RowKind, number> {
  return Object.fromEntries(rowKinds.map((kind) => [kind, 0])) as Record<RowKind, number>;
}
