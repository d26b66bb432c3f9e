import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { EndStatus } from "../../kernel/status.ts";
import { isSameDocument } from "../document.ts";
import { firstKey, lastKeyOf } from "../instance-key.ts";
import type { RowCounts } from "../row-counts.ts";
import { listInstances } from "../listing.ts";
import { numberBefore } from "../message-number.ts";
import {
  Columns,
  toClaimed,
  toDefinition,
  toDocument,
  toDomain,
  toFinished,
  toHistory,
  toInstance,
  toJob,
  toLine,
  toMailboxRow,
  toMember,
  toOffset,
  toOutbox,
  toRequest,
  toSavedDefinition,
  toSent,
  toShard,
  toSummary,
} from "../rows.ts";
import type {
  Batch,
  ClusterView,
  DefinitionRow,
  DocumentRow,
  DomainRow,
  FinishedRow,
  HistoryRow,
  StoredFilter,
  InstanceRow,
  InstanceSummary,
  JobRow,
  LinePage,
  LineRow,
  MailboxRow,
  OffsetRow,
  OutboxRow,
  RequestRow,
  SavedDefinition,
  ShardClaim,
  Store,
} from "../store.ts";
import {
  type ColumnList,
  definitionColumns,
  domainColumns,
  integerKey,
  jobColumns,
  logLineColumns,
  mailboxColumns,
  textKey,
} from "./columns.ts";
import { turnsIn } from "../turn-text.ts";
import { inKeyOrder } from "./key-order.ts";
import type { StatementResult, Row, SessionUse, SqlDriver, StatementCall, Value } from "./sql-driver.ts";
import type { StatementName } from "./statements.ts";

/** Names of settings. */
const shardCount = "shard_count";
const incarnation = "incarnation";

/**
 * The part of a store that is the same on every SQL database: which statement runs with which values, and what its rows
 * become. Statements have the same name, parameters and columns in the `queries/` of every database. Adapters add what
 * differs: opening, commits with their fences, removal of members, and deletion of log lines in small steps.
 */
export abstract class SqlStore<Driver extends SqlDriver = SqlDriver> implements Store {
  abstract readonly clusters: Store["clusters"];
  abstract readonly lanes: number;
  /** Name of the database for messages, without a password. */
  abstract readonly place: string;
  #driver: Driver | undefined;
  #isOpening = false;

  abstract openDriver(): Promise<Driver>;
  /** Translates an error that was met while opening, when a person can still fix its cause. */
  abstract toOpeningError(error: unknown): Error;
  /** Translates an error of an open store. An unknown error may have been written, so it is `STORE_UNAVAILABLE`. */
  abstract toOperationError(error: unknown): Error;

  abstract commit(batch: Batch): Promise<void>;
  abstract removeMember(member: string, ifHeartbeat?: number): Promise<boolean>;
  abstract deleteLines(topicPrefix: string, before: number): Promise<void>;
  abstract deleteTopic(topic: string): Promise<void>;

  async open(): Promise<void> {
    if (this.#driver || this.#isOpening) {
      throw new EngineError("STORE_LOCKED", `the database ${this.place} is open already; close it first`);
    }
    this.#isOpening = true;
    try {
      this.#driver = await this.openDriver();
    } catch (error) {
      throw this.toOpeningError(error);
    } finally {
      this.#isOpening = false;
    }
  }

  async close(): Promise<void> {
    const driver = this.#driver;
    this.#driver = undefined;
    if (driver) await this.translateErrors(() => driver.close());
  }

  async settleShardCount(count: number): Promise<number> {
    const [, settled] = await this.transaction("other", [
      { name: "settle-setting", values: [shardCount, count] },
      { name: "find-setting", values: [shardCount] },
    ]);
    const [value] = this.#map(settled?.rows, (row) => row.number("value"));
    assert(value !== undefined, "a setting just settled has its row");
    return value;
  }

  async join(member: { readonly id: string; readonly address: string }): Promise<void> {
    await this.transaction("heartbeats", [{ name: "insert-member", values: [member.id, member.address] }]);
  }

  /**
   * Shards are read before members: an owner that is missing among the members was removed, and did not just join.
   */
  async heartbeat(member: string, about?: string, since?: number): Promise<ClusterView> {
    const reads: StatementCall[] =
      since === undefined
        ? [{ name: "load-shards", values: [] }]
        : [
            { name: "read-clock", values: [] },
            { name: "load-changed-shards", values: [member, since] },
          ];
    const [, settings, ...views] = await this.transaction("heartbeats", [
      { name: "raise-heartbeat", values: [member, about ?? null] },
      { name: "find-setting", values: [incarnation] },
      ...reads,
      { name: "load-members", values: [] },
    ]);
    const [members, shards, clock] = views.toReversed();
    const [seconds] = clock === undefined ? [] : this.#map(clock.rows, (row) => row.number("seconds"));
    return {
      incarnation: this.#incarnation(settings),
      members: this.#map(members?.rows, toMember),
      shards: this.#map(shards?.rows, toShard),
      ...(seconds !== undefined && { seconds }),
    };
  }

  async renewLease(member: string, atLeast: number): Promise<boolean> {
    const [renewed] = await this.transaction("heartbeats", [{ name: "renew-lease", values: [member, atLeast] }]);
    return renewed?.changes === 1;
  }

  /**
   * The row is locked before the owner in it is looked up among the members, by a later statement and so with a newer
   * view: no other claim or commit comes in between. The owner joined before it claimed, so it is seen unless it was
   * removed, and a removed member never returns. On a server the lock is held by a session for commits, which is ended
   * with this member's removal.
   */
  async claimShard(shard: number, owner: string): Promise<ShardClaim | undefined> {
    const [, before, claim, after, settings] = await this.transaction("commits", [
      { name: "insert-shard", values: [shard] },
      { name: "find-shard", values: [shard] },
      { name: "claim-shard", values: [shard, owner] },
      { name: "find-shard", values: [shard] },
      { name: "find-setting", values: [incarnation] },
    ]);
    if (claim?.changes !== 1) return undefined;
    const [claimed] = this.#map(before?.rows, toClaimed);
    const [epoch] = this.#map(after?.rows, (row) => row.number("epoch"));
    assert(claimed !== undefined && epoch !== undefined, "a shard that is claimed has its row");
    return { ...claimed, epoch, incarnation: this.#incarnation(settings) };
  }

  /** A store that was never restored has no such setting. */
  #incarnation(setting: StatementResult | undefined): number {
    return this.#map(setting?.rows, (row) => row.number("value"))[0] ?? 0;
  }

  async beginIncarnation(): Promise<number> {
    const [seconds] = await this.all("read-clock", [], (row) => row.number("seconds"));
    const [, setting] = await this.transaction("other", [
      { name: "settle-setting", values: [incarnation, 0] },
      { name: "find-setting", values: [incarnation] },
    ]);
    const last = this.#incarnation(setting);
    const next = Math.max(last + 1, seconds ?? 0);
    const renumbering = [numberBefore(next) - numberBefore(last), numberBefore(next)];
    const [raised] = await this.transaction("other", [
      { name: "raise-incarnation", values: [next, last] },
      { name: "raise-epochs", values: [] },
      { name: "renumber-outbox", values: renumbering },
      { name: "renumber-sent", values: renumbering },
      { name: "renumber-offsets", values: renumbering },
    ]);
    if (raised?.changes === 1) return next;
    throw new EngineError("STORE_LOCKED", `the incarnation of ${this.place} was raised by another process just now`);
  }

  async countRows(): Promise<RowCounts> {
    const counts = await this.#first("count-rows", [], toRowCounts);
    assert(counts !== undefined, "a count has a row");
    return counts;
  }

  async listUnfinished(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const after = Math.max(page.after, firstKey(shard) - 1);
    return await this.all("list-unfinished-by-shard", [after, lastKeyOf(shard), page.limit], toInstance);
  }

  async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    return inTurnOrder(await this.all("load-history", [{ integers: instances }], toTurns));
  }

  async listHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
    const found = inTurnOrder(await this.all("list-history", [instance, page.afterTurn, page.limit], toTurns));
    const first = found.findIndex(({ turn }) => turn > page.afterTurn);
    return first === -1 ? [] : found.slice(first, first + page.limit);
  }

  async loadPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    const found = await this.all("load-payloads", [instance, { integers: refs }], (row): [number, string] => [
      row.number("ref"),
      row.text("body"),
    ]);
    const bodies = new Map(found);
    return refs.map((ref) => {
      const body = bodies.get(ref);
      if (body !== undefined) return body;
      throw new EngineError("STORE_DATA", `instance ${instance} refers to payload ${ref}, which is not in the store`);
    });
  }

  async findFinished(id: string): Promise<FinishedRow | undefined> {
    return await this.#first("find-finished", [id], toFinished);
  }

  async listInstances(filter: StoredFilter): Promise<InstanceSummary[]> {
    return await listInstances(
      {
        list: (walks) =>
          this.translateErrors(async () => {
            const pages = await this.driver.snapshot(walks);
            return pages.map((rows) => this.#map(rows, toSummary));
          }),
        countFinishedById: async ({ first, end, limit }) => {
          const count = await this.#first("count-finished-by-id", [first, end, limit], toCount);
          assert(count !== undefined, "a count has a row");
          return count;
        },
      },
      filter,
    );
  }

  async listFinishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]> {
    return await this.all("list-finished-before", [filter.status, filter.endedBefore, filter.limit], (row) => ({
      key: row.number("key"),
      id: row.text("id"),
    }));
  }

  async loadOutbox(targets: readonly number[]): Promise<OutboxRow[]> {
    return await this.all("load-outbox", [{ integers: targets }], toOutbox);
  }

  async loadOutboxOf(source: number): Promise<OutboxRow[]> {
    return await this.all("load-outbox-of", [source], toOutbox);
  }

  async loadOffsets(shard: number): Promise<OffsetRow[]> {
    return await this.all("load-offsets", [shard], toOffset);
  }

  async loadSent(source: number): Promise<{ target: number; number: number }[]> {
    return await this.all("load-sent", [source], toSent);
  }

  async findRequest(shard: number, key: string): Promise<RequestRow | undefined> {
    return await this.#first("find-request", [shard, key], toRequest);
  }

  async post(mail: { readonly mailbox: string; readonly body: string; readonly at: number }): Promise<void> {
    await this.#write("insert-mailbox-row", mailboxColumns, [mail]);
  }

  async listMailboxRows(mailboxes: readonly string[], limit: number): Promise<MailboxRow[]> {
    return await this.all("list-mailbox-rows", [{ texts: mailboxes }, limit], toMailboxRow);
  }

  async deleteMailboxRows(ids: readonly number[]): Promise<void> {
    await this.#write(
      "delete-mailbox-rows",
      integerKey,
      ids.toSorted((a, b) => a - b),
    );
  }

  /** Times are whole numbers on disk, so rows before a fraction are those before the next whole number. */
  async deleteMailboxRowsBefore(at: number): Promise<void> {
    await this.transaction("other", [{ name: "delete-mailbox-rows-before", values: [Math.ceil(at)] }]);
  }

  async loadDomains(): Promise<DomainRow[]> {
    return await this.all("load-domains", [], toDomain);
  }

  async declareDomains(domains: readonly DomainRow[]): Promise<void> {
    await this.#write(
      "declare-domain",
      domainColumns,
      inKeyOrder(domains, ({ name }) => name),
    );
  }

  async saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void> {
    await this.#write(
      "insert-definition",
      definitionColumns,
      inKeyOrder(definitions, ({ name }) => name),
    );
  }

  async findDefinition(name: string, version: string): Promise<DefinitionRow | undefined> {
    return await this.#first("find-definition", [name, version], toDefinition);
  }

  async findLatestDefinition(name: string): Promise<DefinitionRow | undefined> {
    return await this.#first("find-latest-definition", [name], toDefinition);
  }

  async listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]> {
    const before = page.before ?? Number.MAX_SAFE_INTEGER;
    return await this.all("list-definitions", [name, before, page.limit], toSavedDefinition);
  }

  async loadJobs(): Promise<JobRow[]> {
    return await this.all("load-jobs", [], toJob);
  }

  async saveJobs(jobs: readonly JobRow[]): Promise<void> {
    await this.#write(
      "save-job",
      jobColumns,
      inKeyOrder(jobs, ({ id }) => id),
    );
  }

  async deleteJobs(ids: readonly string[]): Promise<void> {
    await this.#write("delete-job", textKey, ids.toSorted());
  }

  async findDocument(kind: string, name: string): Promise<DocumentRow | undefined> {
    return await this.#first("find-document", [kind, name], toDocument);
  }

  async listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]> {
    return await this.all("list-documents", [kind, page.after ?? null, page.limit], toDocument);
  }

  /** Looks the document up in the same transaction: a repeated call finds what its first one wrote. */
  async saveDocument(document: DocumentRow): Promise<boolean> {
    const { kind, name, revision, at, body } = document;
    const [, found] = await this.transaction("other", [
      {
        name: revision === 1 ? "insert-document" : "update-document",
        values: [kind, name, revision, at, body],
      },
      { name: "find-document", values: [kind, name] },
    ]);
    return isSameDocument(this.#map(found?.rows, toDocument)[0], document);
  }

  async deleteDocument(kind: string, name: string, revision: number): Promise<boolean> {
    const [deleted] = await this.transaction("other", [{ name: "delete-document", values: [kind, name, revision] }]);
    return deleted?.changes === 1;
  }

  async appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void> {
    await this.#write("append-lines", logLineColumns, lines);
  }

  async listLines(topic: string, page: LinePage): Promise<LineRow[]> {
    const { after = 0, before = Number.MAX_SAFE_INTEGER, limit } = page;
    const values = [topic, after, before, limit];
    if (!page.last) return await this.all("list-lines", values, toLine);
    return (await this.all("list-last-lines", values, toLine)).reverse();
  }

  get isOpen(): boolean {
    return this.#driver !== undefined;
  }

  /** `ENGINE_STATE` unless the store is open. */
  get driver(): Driver {
    if (!this.#driver) throw new EngineError("ENGINE_STATE", `the database ${this.place} is not open`);
    return this.#driver;
  }

  async all<Result>(
    name: StatementName,
    values: readonly Value[],
    toResult: (row: Columns) => Result,
  ): Promise<Result[]> {
    return await this.translateErrors(async () => this.#map(await this.driver.all({ name, values }), toResult));
  }

  async transaction(use: SessionUse, calls: readonly StatementCall[]): Promise<readonly StatementResult[]> {
    return await this.translateErrors(() => this.driver.transaction(use, calls));
  }

  async translateErrors<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      throw this.toOperationError(error);
    }
  }

  async #first<Result>(
    name: StatementName,
    values: readonly Value[],
    toResult: (row: Columns) => Result,
  ): Promise<Result | undefined> {
    return (await this.all(name, values, toResult))[0];
  }

  async #write<Item>(name: StatementName, columns: ColumnList<Item>, items: readonly Item[]): Promise<void> {
    await this.translateErrors(() => this.driver.write(name, columns, items));
  }

  /** A damaged row is an error of the database like any other. */
  #map<Result>(rows: readonly Row[] | undefined, toResult: (row: Columns) => Result): Result[] {
    assert(rows !== undefined, "every statement of a transaction has an outcome");
    try {
      return rows.map((row) => toResult(new Columns(row)));
    } catch (error) {
      throw this.toOperationError(error);
    }
  }
}

function toRowCounts(row: Columns): RowCounts {
  return {
    unfinished: row.number("unfinished"),
    finished: row.number("finished"),
    messages: row.number("messages"),
    mails: row.number("mails"),
    requests: row.number("requests"),
    definitions: row.number("definitions"),
    jobs: row.number("jobs"),
    domains: row.number("domains"),
    documents: row.number("documents"),
    logLines: row.number("logLines"),
  };
}

/** A row without a number holds all turns of its instance. */
function toTurns(row: Columns): HistoryRow[] {
  return row.numberOrNull("turn") === null ? turnsIn(row.text("events"), row.number("instance")) : [toHistory(row)];
}

/** The places where turns are found come one after the other. */
function inTurnOrder(found: HistoryRow[][]): HistoryRow[] {
  return found.flat().sort((a, b) => a.instance - b.instance || a.turn - b.turn);
}

function toCount(row: Columns): number {
  return row.number("found");
}
