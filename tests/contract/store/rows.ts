import type {
  DefinitionRow,
  DocumentRow,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  JobRow,
  OutboxRow,
  RequestRow,
  TurnText,
} from "../../../src/stores/store.ts";
import { assert } from "../../../src/base/assert.ts";
import { appendTurn } from "../../../src/stores/turn-text.ts";

/** Rows with every field set; a test names only the fields that it is about. */

export function instanceRow(row: Partial<InstanceRow> & { key: number }): InstanceRow {
  return {
    id: `instance-${row.key}`,
    workflow: "nightly",
    version: "v1",
    status: "Running",
    generation: 1,
    wakeAt: null,
    active: false,
    waitingTasks: 0,
    createdAt: 1_000 + row.key,
    updatedAt: 2_000 + row.key,
    quarantined: null,
    app: null,
    history: null,
    ...row,
  };
}

export function finishedRow(row: Partial<FinishedRow> & { key: number }): FinishedRow {
  return {
    id: `instance-${row.key}`,
    workflow: "nightly",
    version: "v1",
    status: "Success",
    generation: 1,
    reason: null,
    createdAt: 1_000 + row.key,
    endedAt: 3_000 + row.key,
    tasks: 1,
    tasksFailed: 0,
    app: null,
    history: null,
    ...row,
  };
}

export function historyRow(row: Partial<HistoryRow> & { instance: number; turn: number }): HistoryRow {
  return { firstEvent: row.turn * 2, at: 1_000 + row.turn, events: `[{"turn":${row.turn}}]`, ...row };
}

/** The text of these turns of an instance, for its row. */
export function textOf(instance: number, turns: readonly number[]): TurnText {
  let text: TurnText | null = null;
  for (const turn of turns) text = appendTurn(text, historyRow({ instance, turn }));
  assert(text !== null, "a history has a turn");
  return text;
}

export function outboxRow(row: Partial<OutboxRow> & { target: number; number: number }): OutboxRow {
  return { source: 0, body: `{"number":${row.number}}`, ...row };
}

export function requestRow(row: Partial<RequestRow> & { idempotencyKey: string }): RequestRow {
  return { shard: 0, at: 1_000, refusal: null, ...row };
}

export function definitionRow(row: Partial<DefinitionRow> & { version: string }): DefinitionRow {
  return { name: "nightly", spec: `{"version":"${row.version}"}`, createdAt: 1_000, ...row };
}

export function documentRow(row: Partial<DocumentRow> & { name: string }): DocumentRow {
  return { kind: "token", revision: 1, at: 1_000, body: `{"name":"${row.name}"}`, ...row };
}

export function jobRow(row: Partial<JobRow> & { id: string }): JobRow {
  return {
    name: "load",
    signature: "(table: string)",
    parameters: '{"table":"string"}',
    codePath: "jobs/load.ts#load",
    sourceHash: "abc",
    createdAt: 1_000,
    updatedAt: 2_000,
    missing: false,
    ...row,
  };
}
