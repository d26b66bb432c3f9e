import { EngineError } from "../../base/error.ts";
import type {
  Batch,
  Changes,
  DefinitionRow,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  JobRow,
  MarkRow,
  OutboxRow,
  PayloadRow,
  TaskRow,
} from "../store.ts";

export interface ShardRow {
  epoch: number;
  batch: number;
  lastKey: number;
  clean: boolean;
}

/** Rows of one instance, by their key within it. */
type PerInstance<Row> = Map<number, Map<string, Row>>;

/** What a database would hold. Rows are never changed in place, and are copied on their way in and out. */
export class Tables {
  readonly shards = new Map<number, ShardRow>();
  readonly instances = new Map<number, InstanceRow>();
  readonly finished = new Map<number, FinishedRow>();
  readonly history: PerInstance<HistoryRow> = new Map();
  readonly tasks: PerInstance<TaskRow> = new Map();
  readonly payloads: PerInstance<PayloadRow> = new Map();
  readonly outbox = new Map<string, OutboxRow>();
  readonly marks = new Map<string, MarkRow>();
  /** In the order they were saved. */
  readonly definitions = new Map<string, DefinitionRow>();
  readonly jobs = new Map<string, JobRow>();

  /** True if the batch is the shard's next; false if it had landed before. Otherwise `STORE_FENCED`. */
  isNext(batch: Batch): boolean {
    const shard = this.shards.get(batch.shard);
    if (shard?.epoch === batch.epoch && shard.batch === batch.number) return false;
    if (shard?.epoch === batch.epoch && shard.batch === batch.number - 1) return true;
    const found = shard ? `epoch ${shard.epoch} and batch ${shard.batch}` : "no owner yet";
    throw new EngineError(
      "STORE_FENCED",
      `Batch ${batch.number} of shard ${batch.shard} under epoch ${batch.epoch} was refused, because the shard has ${found}.`,
    );
  }

  /** What is written once must not be there yet. Looks before anything is changed, since there is no rolling back. */
  checkNew(changes: Changes): void {
    const purged = new Set(changes.purged);
    const seen = new Set<string>();
    const check = (table: string, key: string, present: boolean): void => {
      const name = `${table} ${key}`;
      if (present || seen.has(name)) throw new EngineError("STORE_DATA", `The store has ${name} already.`);
      seen.add(name);
    };
    for (const { instance, turn } of changes.history) {
      check("turn", `${instance}/${turn}`, !purged.has(instance) && has(this.history, instance, `${turn}`));
    }
    for (const { instance, ref } of changes.payloads) {
      check("payload", `${instance}/${ref}`, !purged.has(instance) && has(this.payloads, instance, `${ref}`));
    }
    for (const row of changes.outbox) check("message", outboxKey(row), this.outbox.has(outboxKey(row)));
  }

  apply(batch: Batch): void {
    const { shard, changes } = batch;
    for (const key of changes.purged) this.#purge(key);
    for (const row of changes.definitions) {
      const key = definitionKey(row.name, row.version);
      if (!this.definitions.has(key)) this.definitions.set(key, row);
    }
    for (const row of changes.instances) this.instances.set(row.key, row);
    for (const key of changes.instancesEnded) this.instances.delete(key);
    for (const row of changes.finished) this.finished.set(row.key, row);
    for (const key of changes.finishedReopened) this.finished.delete(key);
    for (const row of changes.history) put(this.history, row, `${row.turn}`);
    for (const row of changes.tasks) put(this.tasks, row, `${row.task}/${row.attempt}`);
    for (const row of changes.payloads) put(this.payloads, row, `${row.ref}`);
    for (const row of changes.outbox) this.outbox.set(outboxKey(row), row);
    for (const acked of changes.outboxAcked) this.#acknowledge(shard, acked);
    for (const row of changes.marks) this.marks.set(`${row.shard}/${row.source}`, row);
    const { epoch, number, lastKey, clean } = batch;
    this.shards.set(shard, { epoch, batch: number, lastKey, clean });
  }

  #purge(key: number): void {
    this.instances.delete(key);
    this.finished.delete(key);
    this.history.delete(key);
    this.tasks.delete(key);
    this.payloads.delete(key);
  }

  #acknowledge(source: number, acked: { target: number; number: number }): void {
    for (const [key, row] of this.outbox) {
      if (row.source === source && row.target === acked.target && row.number <= acked.number) this.outbox.delete(key);
    }
  }
}

export function definitionKey(name: string, version: string): string {
  return JSON.stringify([name, version]);
}

function outboxKey(row: OutboxRow): string {
  return `${row.source}/${row.target}/${row.number}`;
}

function has<Row>(table: PerInstance<Row>, instance: number, key: string): boolean {
  return table.get(instance)?.has(key) ?? false;
}

function put<Row extends { readonly instance: number }>(table: PerInstance<Row>, row: Row, key: string): void {
  const rows = table.get(row.instance);
  if (rows) rows.set(key, row);
  else table.set(row.instance, new Map([[key, row]]));
}
