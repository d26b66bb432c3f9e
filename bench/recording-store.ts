import { readFileSync, writeFileSync } from "node:fs";
import type { SQLInputValue } from "node:sqlite";
import { deserialize, serialize } from "node:v8";
import { SqliteStore } from "../src/stores/sqlite/sqlite-store.ts";
import type { Statements } from "../src/stores/sqlite/statements.ts";
import { writeChanges } from "../src/stores/sqlite/write-changes.ts";
import type { Batch, HistoryRow, InstanceRow } from "../src/stores/store.ts";

/** One statement that went to the driver, with what was bound to it. */
export type Call = readonly [statement: keyof Statements, values: readonly SQLInputValue[]];

/** What an engine asked of the driver: the reads of its opening, and each commit as its statements in their order. */
export interface Recording {
  readonly shards: ReadonlySet<number>;
  readonly reads: readonly Call[];
  readonly commits: readonly (readonly Call[])[];
}

/**
 * The SQLite store, which also takes down every statement that carries rows, so that the bare ceiling can repeat exactly
 * those. Only for runs that are not timed.
 */
export class RecordingStore extends SqliteStore {
  readonly shards = new Set<number>();
  readonly reads: Call[] = [];
  readonly commits: Call[][] = [];

  override async commit(batch: Batch): Promise<void> {
    for (const { shard } of batch.fences) this.shards.add(shard);
    this.commits.push(callsOf(batch));
    await super.commit(batch);
  }

  override async loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    this.reads.push(["loadInstances", [page.after, Number.MAX_SAFE_INTEGER, page.limit]]);
    return await super.loadInstances(shard, page);
  }

  override async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    this.reads.push(["loadHistory", [JSON.stringify(instances)]]);
    return await super.loadHistory(instances);
  }
}

/** Recordings travel by file: who is timed keeps none of their objects in memory. */
export function saveRecording(file: string, { shards, reads, commits }: Recording): void {
  writeFileSync(file, serialize({ shards, reads, commits }));
}

export function loadRecording(file: string): Recording {
  return deserialize(readFileSync(file)) as Recording;
}

function callsOf({ fences, changes }: Batch): Call[] {
  const calls = fences.map(({ number, lastKey, clean, shard, epoch }): Call => {
    return ["fence", [number, lastKey, clean ? 1 : 0, shard, epoch]];
  });
  writeChanges(takingDown(calls), changes);
  return calls;
}

/** Statements that only say what was to be run. */
function takingDown(calls: Call[]): Statements {
  const statement = (_: object, name: string | symbol): { run(...values: SQLInputValue[]): void } => ({
    run: (...values) => void calls.push([name as keyof Statements, values]),
  });
  return new Proxy({}, { get: statement }) as Statements;
}
