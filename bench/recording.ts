import { readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { type Batch, type Changes, noChanges, type Store } from "../src/stores/store.ts";
import { sum } from "./statistics.ts";
import type { Read } from "./storages/bench-storage.ts";

const tables = Object.keys(noChanges()) as (keyof Changes)[];

/** What an engine asked of its store: claims and reads of its opening, and its commits. */
export interface Recording {
  /** Those it claimed. */
  readonly shards: ReadonlySet<number>;
  readonly reads: readonly Read[];
  /** Before the work began; they are repeated, but not timed. */
  readonly before: readonly Batch[];
  readonly commits: readonly RecordedCommit[];
  /** How many of them were under way at once, at most. */
  readonly atOnce: number;
}

export interface RecordedCommit {
  readonly batch: Batch;
  /** The numbers of those that ended between the last one's beginning and this one's. */
  readonly ended: readonly number[];
}

/** Takes down what is asked of a store, so that the bare ceiling can repeat exactly that. For runs that are not timed. */
export class Recorder {
  readonly #shards = new Set<number>();
  readonly #reads: Read[] = [];
  #before: Batch[] = [];
  #commits: Batch[] = [];
  /** For each of them. */
  #ended: Batch[][] = [];
  #endedSince: Batch[] = [];
  readonly #underWay = new Set<Batch>();
  #atOnce = 1;

  constructor(store: Store) {
    const claimShard = store.claimShard.bind(store);
    const commit = store.commit.bind(store);
    const listUnfinished = store.listUnfinished.bind(store);
    const loadHistory = store.loadHistory.bind(store);
    store.claimShard = async (shard, owner) => {
      this.#shards.add(shard);
      return await claimShard(shard, owner);
    };
    store.commit = async (batch) => {
      const copy = this.#began(batch);
      await commit(batch);
      this.#underWay.delete(copy);
      this.#endedSince.push(copy);
    };
    store.listUnfinished = async (shard, page) => {
      this.#reads.push({ name: "listUnfinished", shard, ...page });
      return await listUnfinished(shard, page);
    };
    store.loadHistory = async (instances) => {
      this.#reads.push({ name: "loadHistory", instances: [...instances] });
      return await loadHistory(instances);
    };
  }

  /** What came so far belongs to the start of the engine. */
  beginWork(): void {
    this.#before = this.#before.concat(this.#commits);
    this.#commits = [];
    this.#ended = [];
    this.#atOnce = 1;
  }

  get commits(): number {
    return this.#commits.length;
  }

  /** Rows and fences of these commits. */
  get rows(): number {
    return sum(this.#commits.map(rowsOf));
  }

  /** Recordings travel by file: who is timed keeps none of their objects in memory. */
  save(file: string): void {
    const numbers = new Map(this.#commits.map((batch, number) => [batch, number]));
    const recording: Recording = {
      shards: this.#shards,
      reads: this.#reads,
      before: this.#before,
      commits: this.#commits.map((batch, number) => {
        return { batch, ended: (this.#ended[number] ?? []).flatMap((each) => numbers.get(each) ?? []) };
      }),
      atOnce: this.#atOnce,
    };
    writeFileSync(file, serialize(recording));
  }

  #began(batch: Batch): Batch {
    const copy = copyOf(batch);
    this.#commits.push(copy);
    this.#ended.push(this.#endedSince);
    this.#endedSince = [];
    this.#atOnce = Math.max(this.#atOnce, this.#underWay.add(copy).size);
    return copy;
  }
}

export function loadRecording(file: string): Recording {
  return deserialize(readFileSync(file)) as Recording;
}

/** The rows are never changed; the lists belong to whoever commits. */
function copyOf({ fences, changes }: Batch): Batch {
  const copy = noChanges();
  for (const table of tables) Object.assign(copy, { [table]: [...changes[table]] });
  return { fences: [...fences], changes: copy };
}

function rowsOf({ fences, changes }: Batch): number {
  return fences.length + sum(tables.map((table) => changes[table].length));
}
