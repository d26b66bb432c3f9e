import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import { lastSent } from "../last-sent.ts";
import type {
  Batch,
  Changes,
  DefinitionRow,
  DocumentRow,
  DomainRow,
  Fence,
  FinishedRow,
  HistoryRow,
  InstanceRow,
  JobRow,
  LineRow,
  MailboxRow,
  OffsetRow,
  MemberRow,
  OutboxRow,
  PayloadRow,
  RequestRow,
  SentRow,
  TrimRow,
} from "../store.ts";

export interface OwnedShard {
  readonly epoch: number;
  readonly owner: string;
  readonly lastBatch: number;
  readonly lastKey: number;
  readonly released: boolean;
}

/** Rows of one instance, by their key within it. */
type PerInstance<Row> = Map<number, Map<string, Row>>;

/** The tables of a database in memory. Rows are never changed in place, and are copied on their way in and out. */
export class Tables {
  readonly settings = new Map<"incarnation" | "shard_count", number>();
  readonly members = new Map<string, MemberRow>();
  readonly shards = new Map<number, OwnedShard>();
  readonly instances = new Map<number, InstanceRow>();
  readonly finished = new Map<number, FinishedRow>();
  readonly history: PerInstance<HistoryRow> = new Map();
  readonly payloads: PerInstance<PayloadRow> = new Map();
  readonly outbox = new Map<string, OutboxRow>();
  readonly sent = new Map<string, SentRow>();
  readonly offsets = new Map<string, OffsetRow>();
  /** Definitions in the order they were saved. */
  readonly definitions = new Map<string, DefinitionRow>();
  readonly jobs = new Map<string, JobRow>();
  readonly domains = new Map<string, DomainRow>();
  readonly requests = new Map<string, RequestRow>();
  /** Messages in the order they were posted. */
  readonly mail = new Map<number, MailboxRow & { readonly at: number }>();
  /** Ids of mail are never given out again. */
  lastMail = 0;
  readonly documents = new Map<string, DocumentRow>();
  /** Lines in the order of their numbers. */
  readonly lines = new Map<number, LineRow>();
  /** Numbers of lines are never given out again. */
  lastLine = 0;

  /** Replaces all rows by those of other tables, which stay as they are. */
  replaceBy(other: Tables): void {
    const own = this as unknown as Record<string, unknown>;
    for (const [name, value] of Object.entries(other)) own[name] = value instanceof Map ? copyOf(value) : value;
  }

  /** `STORE_DATA` if a row that is inserted exists already. Checked before anything is changed, because there is no rollback. */
  checkNew(changes: Changes): void {
    const purged = new Set(changes.purged);
    const trims = new Map(changes.trims.map((trim) => [trim.instance, trim]));
    const seen = new Set<string>();
    const check = (table: string, key: string, present: boolean): void => {
      const name = `${table} ${key}`;
      if (present || seen.has(name)) throw new EngineError("STORE_DATA", `the store has ${name} already`);
      seen.add(name);
    };
    for (const { instance, turn } of changes.history) {
      const goes = purged.has(instance) || turn < (trims.get(instance)?.turn ?? 0);
      check("turn", `${instance}/${turn}`, !goes && has(this.history, instance, `${turn}`));
    }
    for (const { instance, ref } of changes.payloads) {
      const goes = purged.has(instance) || ref < (trims.get(instance)?.ref ?? 0);
      check("payload", `${instance}/${ref}`, !goes && has(this.payloads, instance, `${ref}`));
    }
    for (const row of changes.outbox) check("message", outboxKey(row), this.outbox.has(outboxKey(row)));
    for (const { shard, idempotencyKey } of changes.requests) {
      check("request", requestKey(shard, idempotencyKey), this.requests.has(requestKey(shard, idempotencyKey)));
    }
  }

  apply({ fences, changes }: Batch): void {
    for (const fence of fences) this.#moveOn(fence);
    for (const key of changes.purged) this.#purge(key);
    for (const row of changes.trims) this.#trim(row);
    for (const row of changes.definitions) this.saveDefinition(row);
    for (const row of changes.instances) this.instances.set(row.key, row);
    for (const key of changes.instancesEnded) this.instances.delete(key);
    for (const row of changes.finished) this.finished.set(row.key, row);
    for (const key of changes.finishedReopened) this.finished.delete(key);
    for (const row of changes.history) put(this.history, row, `${row.turn}`);
    for (const row of changes.payloads) put(this.payloads, row, `${row.ref}`);
    for (const row of changes.outbox) this.outbox.set(outboxKey(row), row);
    for (const row of lastSent(changes.outbox)) this.sent.set(`${row.source}/${row.target}`, row);
    for (const row of changes.offsets) this.#saveOffset(row);
    for (const row of changes.domains) this.domains.set(row.name, row);
    for (const row of changes.requests) this.requests.set(requestKey(row.shard, row.idempotencyKey), row);
    for (const forgotten of changes.requestsForgotten) this.#forgetRequests(forgotten);
  }

  /** Raises the numbers of all messages. */
  renumber(by: number): void {
    const messages = [...this.outbox.values()];
    this.outbox.clear();
    for (const row of messages) {
      const moved = { ...row, number: row.number + by };
      this.outbox.set(outboxKey(moved), moved);
    }
    for (const [pair, row] of this.sent) this.sent.set(pair, { ...row, number: row.number + by });
    for (const [pair, row] of this.offsets) this.offsets.set(pair, { ...row, number: row.number + by });
  }

  saveDefinition(row: DefinitionRow): void {
    const key = definitionKey(row.name, row.version);
    if (!this.definitions.has(key)) this.definitions.set(key, row);
  }

  #moveOn({ shard, epoch, number, lastKey, released }: Fence): void {
    const owner = this.shards.get(shard)?.owner;
    assert(owner !== undefined, "a fence that holds is of a shard that was claimed");
    this.shards.set(shard, { epoch, owner, lastBatch: number, lastKey, released });
  }

  #purge(key: number): void {
    this.instances.delete(key);
    this.finished.delete(key);
    this.history.delete(key);
    this.payloads.delete(key);
  }

  #trim({ instance, turn, ref }: TrimRow): void {
    remove(this.history, instance, (row) => row.turn < turn);
    remove(this.payloads, instance, (row) => row.ref < ref);
  }

  #saveOffset(offset: OffsetRow): void {
    this.offsets.set(`${offset.shard}/${offset.source}`, offset);
    for (const [key, { source, target, number }] of this.outbox) {
      if (target === offset.shard && source === offset.source && number <= offset.number) this.outbox.delete(key);
    }
  }

  #forgetRequests({ shard, before }: { shard: number; before: number }): void {
    for (const [key, row] of this.requests) {
      if (row.shard === shard && row.at < before) this.requests.delete(key);
    }
  }
}

export function definitionKey(name: string, version: string): string {
  return JSON.stringify([name, version]);
}

export function documentKey(kind: string, name: string): string {
  return JSON.stringify([kind, name]);
}

export function requestKey(shard: number, key: string): string {
  return `${shard}/${key}`;
}

function outboxKey(row: OutboxRow): string {
  return `${row.source}/${row.target}/${row.number}`;
}

/** Rows are never changed in place, so that copying the tables is enough. */
function copyOf<Key, Value>(table: ReadonlyMap<Key, Value>): Map<Key, Value> {
  const copy = new Map(table);
  for (const [key, rows] of copy) if (rows instanceof Map) copy.set(key, new Map(rows) as Value);
  return copy;
}

function has<Row>(table: PerInstance<Row>, instance: number, key: string): boolean {
  return table.get(instance)?.has(key) ?? false;
}

function put<Row extends { readonly instance: number }>(table: PerInstance<Row>, row: Row, key: string): void {
  const rows = table.get(row.instance);
  if (rows) rows.set(key, row);
  else table.set(row.instance, new Map([[key, row]]));
}

function remove<Row>(table: PerInstance<Row>, instance: number, goes: (row: Row) => boolean): void {
  const rows = table.get(instance);
  for (const [key, row] of rows ?? []) if (goes(row)) rows?.delete(key);
}
