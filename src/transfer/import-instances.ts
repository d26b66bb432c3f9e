import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Store } from "../stores/store.ts";
import type { RowCounts } from "./export-line.ts";
import { ImportRun } from "./import-run.ts";
import { withRetries } from "./retrying-store.ts";
import { type Ownership, takenOver, TargetStore } from "./target-store.ts";

/** Options of an import into a new store. */
export interface ImportOptions {
  /**
   * Number of shards of a new store: as many as `cluster.shards` of the engines that will run on it. Default: 128 on a
   * database server, otherwise 1. A store that was used before keeps its own.
   */
  readonly shards?: number;
}

type LineSource = AsyncIterable<string> | Iterable<string>;

/** Number of rows that were written and read back, by kind. */
export type ImportedRows = Omit<RowCounts, "keys">;

/**
 * Writes what `exportInstances` gave into another store, which must be open and empty of instances, with nobody running
 * on it. Each item is one line, with or without its line break. Everything was read back and compared when it resolves.
 *
 * If it fails, what it had written is removed again. If the process is killed, or the store does not come back, the store
 * counts as half imported: engines refuse it, and the next import into it begins by removing what is there.
 *
 * `OPTION_INVALID` if the lines are not a whole export, saying where, or the store is not empty; `STORE_LOCKED` if
 * somebody else uses it; `STORE_CORRUPT` if it does not give back what was written.
 */
export async function importInstances(
  store: Store,
  lines: LineSource,
  options: ImportOptions = {},
): Promise<ImportedRows> {
  const source = listenTo(lines);
  const target = await claim(store, options, source);
  let done: { rows: RowCounts; last: Ownership };
  try {
    done = await write(target, source);
  } catch (error) {
    throw await undoImport(target, error);
  }
  await target.passOn(done.last);
  const { keys: _keys, ...imported } = done.rows;
  return imported;
}

/**
 * Begins to listen to the lines. The lines of a file (`readLines()`, `createInterface`) are events, which nobody gets who
 * listens later, and claiming the shards of a database server takes longer than reading a file.
 */
function listenTo(lines: LineSource): LineSource {
  if (!(Symbol.asyncIterator in lines)) return lines;
  const iterator = lines[Symbol.asyncIterator]();
  return { [Symbol.asyncIterator]: () => iterator };
}

async function claim(store: Store, { shards }: ImportOptions, source: LineSource): Promise<TargetStore> {
  try {
    return await TargetStore.claim(withRetries(store), shards);
  } catch (error) {
    if (Symbol.asyncIterator in source) await source[Symbol.asyncIterator]().return?.();
    throw error;
  }
}

async function write(target: TargetStore, lines: LineSource): Promise<{ rows: RowCounts; last: Ownership }> {
  const run = await ImportRun.into(target);
  try {
    for await (const line of lines) await run.take(line);
    const rows = await run.complete();
    await target.release();
    return { rows, last: run.last };
  } finally {
    run.close();
  }
}

/** Removes the written rows, and returns the error that names both failures. */
async function undoImport(target: TargetStore, error: unknown): Promise<unknown> {
  if (hasCode(error, "STORE_FENCED")) return takenOver(error);
  try {
    await target.abandon();
    return error;
  } catch (cause) {
    return new EngineError(
      "STORE_UNAVAILABLE",
      `${messageOf(error)} What had been written could not be removed either: ${messageOf(cause)} Engines refuse the store as it is; import into it again, which begins by removing what is there.`,
      { cause: error },
    );
  }
}
