import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { EndStatus } from "../../kernel/status.ts";
import { isSameDocument } from "../document.ts";
import { firstKey, lastKeyOf } from "../instance-key.ts";
import { mailboxOf } from "../mailbox.ts";
import { listInstances, type ListQuery } from "../listing.ts";
import type {
  Batch,
  ClusterView,
  DefinitionRow,
  DocumentRow,
  DomainRow,
  FinishedRow,
  HistoryRow,
  InstanceFilter,
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
  TaskRow,
} from "../store.ts";
import { openFile, openInMemory, settlePath } from "./database.ts";
import { openingError, operationError } from "./faults.ts";
import { FileIdentity } from "./file-identity.ts";
import { FileLock } from "./file-lock.ts";
import {
  Columns,
  toClaim,
  toDefinition,
  toDocument,
  toDomain,
  toFinished,
  toHistory,
  toInstance,
  toJob,
  toLine,
  toMailboxRow,
  toOffset,
  toMember,
  toOutbox,
  toRequest,
  toSavedDefinition,
  toSent,
  toShard,
  toSummary,
  toTask,
} from "../rows.ts";
import { prepareStatements } from "./statements.ts";
import type { Statements } from "./statements.ts";
import { fromDisk, toDisk, toDiskOrNull } from "../text.ts";
import { writeChanges, writeDefinition, writeDocument, writeJob } from "./write-changes.ts";
import { writeFences } from "./write-fences.ts";

const inMemory = ":memory:";

/** The name of the number of shards among the settings. */
const shardCount = "shard_count";

/** Looking at more of them at once would hold up the engine for longer than a commit does. */
const oldLinesAtOnceMax = 1000;

const listStatements = {
  "list-unfinished": "listUnfinished",
  "list-finished-by-status": "listFinishedByStatus",
  "list-finished-by-workflow": "listFinishedByWorkflow",
  "list-finished-by-id": "listFinishedById",
} as const satisfies Record<ListQuery, keyof Statements>;

interface Opened {
  readonly db: DatabaseSync;
  readonly statements: Statements;
  /** None in memory, where nobody else can come. */
  readonly lock: FileLock | undefined;
  readonly identity: FileIdentity | undefined;
}

/**
 * The embedded store: one file, one process, one writer. SQLite is synchronous, so a call has done its work when it
 * returns its promise; callers must not count on that.
 */
export class SqliteStore implements Store {
  readonly clusters = "never";
  readonly lanes: number = 1;
  readonly #file: string;
  #opened: Opened | undefined;

  /** `:memory:` keeps everything in memory, until `close`. */
  constructor(options: { file: string }) {
    if (typeof options.file !== "string" || options.file === "") {
      throw new EngineError("OPTION_INVALID", `The database needs a file name, got ${JSON.stringify(options.file)}.`);
    }
    this.#file = options.file;
  }

  async open(): Promise<void> {
    if (this.#opened) {
      throw new EngineError("STORE_LOCKED", `The database ${this.#file} is open already, close it first.`);
    }
    try {
      this.#opened = this.#file === inMemory ? openStore(openInMemory) : openLocked(this.#file);
    } catch (error) {
      throw openingError(error, this.#file);
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (!opened) return;
    this.#opened = undefined;
    try {
      // Folds the log into the file, so that what is left behind is the one file.
      if (opened.lock) opened.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (error) {
      throw operationError(error, this.#file);
    } finally {
      opened.db.close();
      opened.lock?.release();
    }
  }

  async verify(): Promise<void> {
    this.#opened?.identity?.check();
  }

  async settleShardCount(count: number): Promise<number> {
    return this.#write((statements) => {
      statements.settleSetting.run(shardCount, count);
      const row = statements.readSetting.get(shardCount);
      assert(row, "a setting just settled has its row");
      return new Columns(row).number("value");
    });
  }

  async join(member: { readonly id: string; readonly address: string }): Promise<void> {
    this.#write((statements) => statements.insertMember.run(toDisk(member.id), toDisk(member.address)));
  }

  async beat(member: string, about?: string): Promise<ClusterView> {
    return this.#write((statements) => {
      statements.beatMember.run(toDisk(member), about === undefined ? null : toDisk(about));
      return {
        members: statements.loadMembers.all().map((row) => toMember(new Columns(row))),
        shards: statements.loadShards.all().map((row) => toShard(new Columns(row))),
      };
    });
  }

  async removeMember(member: string, ifBeat?: number): Promise<boolean> {
    return this.#write((statements) => {
      if (statements.deleteMember.run(toDisk(member), ifBeat ?? null).changes === 0) return false;
      statements.deleteMailbox.run(toDisk(mailboxOf(member)));
      return true;
    });
  }

  async claimShard(shard: number, owner: string): Promise<ShardClaim | undefined> {
    return this.#write((statements) => {
      const before = statements.readShard.get(shard);
      if (statements.claimShard.run(shard, toDisk(owner)).changes === 0) return undefined;
      if (before === undefined) return { epoch: 1, batch: 0, lastKey: 0, clean: true, previousOwner: "" };
      return toClaim(new Columns(before));
    });
  }

  async commit(batch: Batch): Promise<void> {
    this.#write((statements) => {
      if (writeFences(statements, batch.fences)) writeChanges(statements, batch.changes);
    });
  }

  async loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const after = Math.max(page.after, firstKey(shard) - 1);
    return this.#all((from) => from.loadInstances, [after, lastKeyOf(shard), page.limit], toInstance);
  }

  async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    return this.#all((from) => from.loadHistory, [JSON.stringify(instances)], toHistory);
  }

  async readHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
    return this.#all((from) => from.readHistory, [instance, page.afterTurn, page.limit], toHistory);
  }

  async readTasks(instance: number): Promise<TaskRow[]> {
    return this.#all((from) => from.readTasks, [instance], toTask);
  }

  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    return this.#read((statements) => refs.map((ref) => readPayload(statements, { instance, ref })));
  }

  async findFinished(id: string): Promise<FinishedRow | undefined> {
    return this.#first((from) => from.findFinished, [toDisk(id)], toFinished);
  }

  async listInstances(filter: InstanceFilter): Promise<InstanceSummary[]> {
    return await listInstances(
      {
        list: async (walks) =>
          walks.map(({ query, values }) => this.#all((from) => from[listStatements[query]], values, toSummary)),
        countFinishedById: async ({ first, end, limit }) => {
          const row = this.#first(
            (from) => from.countFinishedById,
            [first, end, limit],
            (found) => found.number("found"),
          );
          assert(row !== undefined, "a count has a row");
          return row;
        },
      },
      filter,
    );
  }

  async finishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]> {
    const values = [filter.status, filter.endedBefore, filter.limit];
    return this.#all(
      (from) => from.finishedBefore,
      values,
      (row) => ({ key: row.number("key"), id: row.text("id") }),
    );
  }

  async loadOutbox(targets: readonly number[]): Promise<OutboxRow[]> {
    return this.#all((from) => from.loadOutbox, [JSON.stringify(targets)], toOutbox);
  }

  async loadOffsets(shard: number): Promise<OffsetRow[]> {
    return this.#all((from) => from.loadOffsets, [shard], toOffset);
  }

  async loadSent(source: number): Promise<{ target: number; number: number }[]> {
    return this.#all((from) => from.loadSent, [source], toSent);
  }

  async findRequest(shard: number, key: string): Promise<RequestRow | undefined> {
    return this.#first((from) => from.readRequest, [shard, toDisk(key)], toRequest);
  }

  async post(mail: { readonly box: string; readonly body: string; readonly at: number }): Promise<void> {
    this.#write((statements) => statements.insertMailboxRow.run(toDisk(mail.box), toDisk(mail.body), mail.at));
  }

  async readMailbox(boxes: readonly string[], limit: number): Promise<MailboxRow[]> {
    return this.#read((statements) => {
      const rows = [...new Set(boxes)].flatMap((box) => statements.readMailbox.all(toDisk(box), limit));
      const mail = rows.map((row) => toMailboxRow(new Columns(row)));
      return mail.sort((a, b) => a.id - b.id).slice(0, limit);
    });
  }

  async deleteFromMailbox(ids: readonly number[]): Promise<void> {
    this.#write((statements) => {
      for (const id of ids) statements.deleteFromMailbox.run(id);
    });
  }

  async deleteMailboxRowsBefore(at: number): Promise<void> {
    this.#write((statements) => statements.deleteMailboxRowsBefore.run(at));
  }

  async loadDomains(): Promise<DomainRow[]> {
    return this.#all((from) => from.loadDomains, [], toDomain);
  }

  async declareDomains(domains: readonly DomainRow[]): Promise<void> {
    this.#write((statements) => {
      for (const { name, size, priority } of domains) statements.declareDomain.run(toDisk(name), size, priority);
    });
  }

  async saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void> {
    this.#write((statements) => {
      for (const definition of definitions) writeDefinition(statements, definition);
    });
  }

  async loadDefinition(name: string, version: string): Promise<DefinitionRow | undefined> {
    return this.#first((from) => from.loadDefinition, [toDisk(name), toDisk(version)], toDefinition);
  }

  async latestDefinition(name: string): Promise<DefinitionRow | undefined> {
    return this.#first((from) => from.latestDefinition, [toDisk(name)], toDefinition);
  }

  async listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]> {
    const values = [toDisk(name), page.before ?? Number.MAX_SAFE_INTEGER, page.limit];
    return this.#all((from) => from.listDefinitions, values, toSavedDefinition);
  }

  async loadJobs(): Promise<JobRow[]> {
    return this.#all((from) => from.loadJobs, [], toJob);
  }

  async saveJobs(jobs: readonly JobRow[]): Promise<void> {
    this.#write((statements) => {
      for (const job of jobs) writeJob(statements, job);
    });
  }

  async deleteJobs(ids: readonly string[]): Promise<void> {
    this.#write((statements) => {
      for (const id of ids) statements.deleteJob.run(toDisk(id));
    });
  }

  async findDocument(kind: string, name: string): Promise<DocumentRow | undefined> {
    return this.#first((from) => from.findDocument, [toDisk(kind), toDisk(name)], toDocument);
  }

  async listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]> {
    const values = [toDisk(kind), toDiskOrNull(page.after ?? null), page.limit];
    return this.#all((from) => from.listDocuments, values, toDocument);
  }

  async saveDocument(document: DocumentRow): Promise<boolean> {
    if (this.#write((statements) => writeDocument(statements, document))) return true;
    return isSameDocument(await this.findDocument(document.kind, document.name), document);
  }

  async deleteDocument(kind: string, name: string, revision: number): Promise<boolean> {
    return this.#write(
      (statements) => statements.deleteDocument.run(toDisk(kind), toDisk(name), revision).changes === 1,
    );
  }

  async appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void> {
    this.#write((statements) => {
      for (const { topic, at, body } of lines) statements.insertLine.run(toDisk(topic), at, toDisk(body));
    });
  }

  async readLines(topic: string, page: LinePage): Promise<LineRow[]> {
    const { after = 0, before = Number.MAX_SAFE_INTEGER, limit } = page;
    const values = [toDisk(topic), after, before, limit];
    if (!page.last) return this.#all((from) => from.readLines, values, toLine);
    return this.#all((from) => from.readLastLines, values, toLine).reverse();
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    const prefix = toDisk(topicPrefix);
    for (let last = { at: Number.MIN_SAFE_INTEGER, number: 0 }; ; await setImmediate()) {
      const values = [prefix, before, last.at, last.number, oldLinesAtOnceMax];
      const found = this.#all((from) => from.findOldLines, values, toOldLine);
      const gone = found.filter(({ goes }) => goes);
      if (gone.length > 0) this.#write(({ deleteLine }) => gone.forEach(({ number }) => deleteLine.run(number)));
      if (found.length < oldLinesAtOnceMax) return;
      last = found.at(-1) ?? last;
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    for (; ; await setImmediate()) {
      const { changes } = this.#write(({ deleteTopic }) => deleteTopic.run(toDisk(topic), oldLinesAtOnceMax));
      if (Number(changes) < oldLinesAtOnceMax) return;
    }
  }

  #all<Row>(
    query: (statements: Statements) => StatementSync,
    values: readonly SQLInputValue[],
    toRow: (row: Columns) => Row,
  ): Row[] {
    return this.#read((statements) =>
      query(statements)
        .all(...values)
        .map((row) => toRow(new Columns(row))),
    );
  }

  #first<Row>(
    query: (statements: Statements) => StatementSync,
    values: readonly SQLInputValue[],
    toRow: (row: Columns) => Row,
  ): Row | undefined {
    return this.#read((statements) => {
      const row = query(statements).get(...values);
      return row && toRow(new Columns(row));
    });
  }

  #write<Result>(work: (statements: Statements) => Result): Result {
    const result = this.#read((statements, db) => inTransaction(statements, db, work));
    // Looked at after the commit: if the file is at its place now, it was there when it was written.
    this.#opened?.identity?.check();
    return result;
  }

  #read<Result>(work: (statements: Statements, db: DatabaseSync) => Result): Result {
    const { statements, db } = this.#mustBeOpen();
    try {
      return work(statements, db);
    } catch (error) {
      throw operationError(error, this.#file);
    }
  }

  #mustBeOpen(): Opened {
    if (!this.#opened) throw new EngineError("ENGINE_STATE", `The database ${this.#file} is not open.`);
    return this.#opened;
  }
}

function openLocked(file: string): Opened {
  const path = settlePath(file);
  const lock = FileLock.take(path);
  try {
    const opened = openStore(() => openFile(path), { lock, identity: new FileIdentity(path) });
    opened.identity?.check();
    return opened;
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openStore(
  openDatabase: () => DatabaseSync,
  file: Pick<Opened, "lock" | "identity"> = { lock: undefined, identity: undefined },
): Opened {
  const db = openDatabase();
  try {
    return { db, statements: prepareStatements(db), ...file };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Whatever goes wrong in it, none of it stays. */
function inTransaction<Result>(
  statements: Statements,
  db: DatabaseSync,
  work: (statements: Statements) => Result,
): Result {
  statements.begin.run();
  try {
    const result = work(statements);
    statements.commit.run();
    return result;
  } catch (error) {
    // After some errors SQLite has already rolled back by itself.
    if (db.isTransaction) statements.rollback.run();
    throw error;
  }
}

function toOldLine(row: Columns): { number: number; at: number; goes: boolean } {
  return { number: row.number("number"), at: row.number("at"), goes: row.boolean("goes") };
}

function readPayload(statements: Statements, at: { instance: number; ref: number }): string {
  const body = statements.readPayload.get(at.instance, at.ref)?.["body"];
  if (typeof body === "string") return fromDisk(body);
  throw new EngineError(
    "STORE_DATA",
    `Instance ${at.instance} refers to payload ${at.ref}, which is not in the store.`,
  );
}
