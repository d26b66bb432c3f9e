import { deserialize, serialize } from "node:v8";
import type { SQLInputValue } from "node:sqlite";
import { SqliteStore } from "../src/stores/sqlite/sqlite-store.ts";
import type { Statements } from "../src/stores/sqlite/statements.ts";
import { writeChanges } from "../src/stores/sqlite/write-changes.ts";
import type { Batch, HistoryRow, InstanceRow } from "../src/stores/store.ts";

/** One statement that went to the driver, with what was bound to it. */
export type Call = readonly [statement: keyof Statements, ...values: SQLInputValue[]];

/** What an engine asked of the driver: the reads of its opening, and each commit as its statements in their order. */
export interface Recording {
  readonly reads: readonly Call[];
  readonly commits: readonly (readonly Call[])[];
}

/**
 * The SQLite store, which also takes down every statement that carries rows, so that the bare ceiling can repeat exactly
 * those. Only for runs that are not timed.
 */
export class RecordingStore extends SqliteStore {
  readonly #reads: Call[] = [];
  readonly #commits: Call[][] = [];

  override async commit(batch: Batch): Promise<void> {
    this.#commits.push(callsOf(batch));
    await super.commit(batch);
  }

  override async loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const rows = await super.loadInstances(shard, page);
    this.#reads.push(["loadInstances", page.after, Number.MAX_SAFE_INTEGER, page.limit]);
    return rows;
  }

  override async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    this.#reads.push(["loadHistory", JSON.stringify(instances)]);
    return await super.loadHistory(instances);
  }

  get commitCount(): number {
    return this.#commits.length;
  }

  taken(): PackedRecording {
    return new PackedRecording({ reads: this.#reads, commits: this.#commits });
  }
}

/** A recording outside the heap, so that what is timed in between has no foreign objects to collect around. */
export class PackedRecording {
  readonly commitCount: number;
  readonly rowCount: number;
  readonly bytes: Buffer;

  constructor(recording: Recording) {
    this.commitCount = recording.commits.length;
    this.rowCount = recording.commits.reduce((sum, calls) => sum + calls.length, 0);
    this.bytes = serialize(recording);
  }

  unpacked(): Recording {
    return deserialize(this.bytes) as Recording;
  }
}

function callsOf({ number, lastKey, clean, shard, epoch, changes }: Batch): Call[] {
  const calls: Call[] = [["fence", number, lastKey, clean ? 1 : 0, shard, epoch]];
  writeChanges(takingDown(calls), shard, changes);
  return calls;
}

/** Statements that only say what was to be run. */
function takingDown(calls: Call[]): Statements {
  const statement = (_: object, name: string | symbol): { run(...values: SQLInputValue[]): void } => ({
    run: (...values) => void calls.push([name as keyof Statements, ...values]),
  });
  return new Proxy({}, { get: statement }) as Statements;
}
