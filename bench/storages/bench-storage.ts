import type { Batch } from "../../src/stores/store.ts";

/** Where the rows of a run are kept: by an engine's store, and by the same driver without either. */
export interface BenchStorage {
  /** Says to another process which storage it is, and where (`storageAt`). */
  readonly place: string;
  /** An empty database for the work, or a copy of one; gone afterwards. Its address is what `storage()` takes. */
  inDatabase<T>(work: (address: string) => Promise<T>, copyOf?: string): Promise<T>;
  /** Opens a database for the driver alone, as the owner of these shards, with so many commits under way at once. */
  openDriver(address: string, use: { shards: Iterable<number>; atOnce: number }): Promise<BareDriver>;
}

/** A driver, with the schema and the settings of the store. What can be made ready before the clock runs is. */
export interface BareDriver {
  /** The epochs of its claims, by shard. */
  readonly epochs: ReadonlyMap<number, number>;
  /** Gives back how to send it. */
  readyRead(read: Read): () => unknown;
  /** Gives back how to send it; the fence is the first of its writes. */
  readyCommit(batch: Batch): () => unknown;
  /** The number of the last batch that landed. */
  lastBatch(shard: number): Promise<number>;
  close(): Promise<void>;
}

/** What an engine reads when it opens a shard, as it asked its store for it. */
export type Read =
  | { readonly name: "listUnfinished"; readonly shard: number; readonly after: number; readonly limit: number }
  | { readonly name: "loadHistory"; readonly instances: readonly number[] };
