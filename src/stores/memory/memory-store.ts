import { setImmediate } from "node:timers/promises";
import { EngineError } from "../../base/error.ts";
import type { EndStatus } from "../../kernel/status.ts";
import { firstKey, lastKeyOf } from "../instance-key.ts";
import type {
  Batch,
  DefinitionRow,
  FinishedRow,
  HistoryRow,
  InstanceFilter,
  InstanceRow,
  InstanceSummary,
  JobRow,
  MarkRow,
  OutboxRow,
  ShardClaim,
  Store,
  TaskRow,
} from "../store.ts";
import { listInstances } from "./list-instances.ts";
import { definitionKey, Tables } from "./tables.ts";

/** For tests. What was committed outlives `close`, so that an engine can be restarted on the same object. */
export class MemoryStore implements Store {
  readonly #tables = new Tables();
  readonly #delay: () => Promise<void>;
  #commits: Promise<void> = Promise.resolve();
  #isOpen = false;

  /** A commit takes as long as `delay`, one event-loop turn by default: an engine runs ahead of it as of a real one. */
  constructor(options: { delay?: () => Promise<void> } = {}) {
    this.#delay = options.delay ?? setImmediate;
  }

  async open(): Promise<void> {
    if (this.#isOpen) throw new EngineError("STORE_LOCKED", "The memory store is open already, close it first.");
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    await this.#commits;
    this.#isOpen = false;
  }

  async claimShard(shard: number, _owner: string): Promise<ShardClaim> {
    const { shards } = this.#read();
    const before = shards.get(shard) ?? { epoch: 0, batch: 0, lastKey: 0, clean: true };
    const claimed = { ...before, epoch: before.epoch + 1 };
    shards.set(shard, { ...claimed, clean: false });
    return claimed;
  }

  /** Lands after the delay and in the order of the calls, as on one connection to a database. */
  async commit(batch: Batch): Promise<void> {
    this.#read();
    const copy = structuredClone(batch);
    const landing = this.#commits.then(async () => {
      await this.#delay();
      if (!this.#tables.isNext(copy)) return;
      this.#tables.checkNew(copy.changes);
      this.#tables.apply(copy);
    });
    this.#commits = landing.catch(() => undefined);
    return landing;
  }

  async loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const after = Math.max(page.after, firstKey(shard) - 1);
    const rows = [...this.#read().instances.values()].filter((row) => row.key > after && row.key <= lastKeyOf(shard));
    return copies(rows.sort((a, b) => a.key - b.key).slice(0, page.limit));
  }

  async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    const keys = [...new Set(instances)].sort((a, b) => a - b);
    return keys.flatMap((key) => this.#history(key));
  }

  async readHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
    return this.#history(instance)
      .filter((row) => row.turn > page.afterTurn)
      .slice(0, page.limit);
  }

  async readTasks(instance: number): Promise<TaskRow[]> {
    const rows = [...(this.#read().tasks.get(instance)?.values() ?? [])];
    return copies(rows.sort((a, b) => a.task - b.task || a.attempt - b.attempt));
  }

  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    const rows = this.#read().payloads.get(instance);
    return refs.map((ref) => {
      const row = rows?.get(`${ref}`);
      if (row) return row.body;
      throw new EngineError("STORE_DATA", `Instance ${instance} refers to payload ${ref}, which is not in the store.`);
    });
  }

  async findFinished(id: string): Promise<FinishedRow | undefined> {
    const rows = [...this.#read().finished.values()].filter((row) => row.id === id);
    return copies(rows.sort((a, b) => b.key - a.key))[0];
  }

  async listInstances(filter: InstanceFilter): Promise<InstanceSummary[]> {
    return listInstances(this.#read(), filter);
  }

  async finishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]> {
    const ended = (row: FinishedRow) => row.status === filter.status && row.endedAt < filter.endedBefore;
    const rows = [...this.#read().finished.values()].filter(ended);
    const oldestFirst = rows.sort((a, b) => a.endedAt - b.endedAt || a.key - b.key);
    return oldestFirst.slice(0, filter.limit).map(({ key, id }) => ({ key, id }));
  }

  async loadOutbox(shard: number): Promise<OutboxRow[]> {
    const rows = [...this.#read().outbox.values()].filter((row) => row.source === shard);
    return copies(rows.sort((a, b) => a.target - b.target || a.number - b.number));
  }

  async loadMarks(shard: number): Promise<MarkRow[]> {
    const rows = [...this.#read().marks.values()].filter((row) => row.shard === shard);
    return copies(rows.sort((a, b) => a.source - b.source));
  }

  async loadDefinition(name: string, version: string): Promise<DefinitionRow | undefined> {
    return copy(this.#read().definitions.get(definitionKey(name, version)));
  }

  async latestDefinition(name: string): Promise<DefinitionRow | undefined> {
    return copy([...this.#read().definitions.values()].findLast((row) => row.name === name));
  }

  async loadJobs(): Promise<JobRow[]> {
    return copies([...this.#read().jobs.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  async saveJobs(jobs: readonly JobRow[]): Promise<void> {
    const table = this.#read().jobs;
    for (const job of copies(jobs)) table.set(job.id, job);
  }

  async deleteJobs(ids: readonly string[]): Promise<void> {
    const table = this.#read().jobs;
    for (const id of ids) table.delete(id);
  }

  #history(instance: number): HistoryRow[] {
    const rows = [...(this.#read().history.get(instance)?.values() ?? [])];
    return copies(rows.sort((a, b) => a.turn - b.turn));
  }

  #read(): Tables {
    if (!this.#isOpen) throw new EngineError("ENGINE_STATE", "The memory store is not open.");
    return this.#tables;
  }
}

/** Rows hold plain values only, so the first level is all of it. */
function copies<Row extends object>(rows: readonly Row[]): Row[] {
  return rows.map((row) => ({ ...row }));
}

function copy<Row extends object>(row: Row | undefined): Row | undefined {
  return row && { ...row };
}
