import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { EndStatus } from "../../kernel/status.ts";
import { CommitOrder } from "../commit-order.ts";
import { isSameDocument } from "../document.ts";
import { firstKey, lastKeyOf } from "../instance-key.ts";
import { mailboxOf } from "../mailbox.ts";
import { listInstances, type ListQuery } from "../listing.ts";
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
import type {
  Batch,
  ClusterView,
  DefinitionRow,
  DocumentRow,
  DomainRow,
  Fence,
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
import { toDisk, toDiskOrNull } from "../text.ts";
import { Address } from "./address.ts";
import { bigints, texts } from "./array-parameter.ts";

import { Connections, commitsOf, connectionsMin, type Limits } from "./connections.ts";
import { isFenceFault, isNoRight, openingError, operationError } from "./faults.ts";
import type { Row, Statement, Step, Value } from "./pipeline.ts";
import { sessionName, type SessionUse } from "./session-name.ts";
import { loadStatements } from "./statements.ts";
import type { Statements } from "./statements.ts";
import { definitionColumns, domainColumns, jobColumns, lineColumns, writeChanges } from "./write-changes.ts";
import { isNextAfterAll, readStandings, writeFences } from "./write-fences.ts";

const schemaByDefault = "heddle";
const connectionsByDefault = 9;
const limitsByDefault: Limits = { workMs: 30_000, lifeMs: 10_000 };

/** A name that means the same with and without quotes. */
const schemaName = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

/** The name of the number of shards among the settings. */
const shardCount = "shard_count";

/** Deleting more at once could take longer than a call may. */
const linesDeletedAtOnceMax = 5000;

const listStatements = {
  "list-unfinished": "listUnfinished",
  "list-finished-by-status": "listFinishedByStatus",
  "list-finished-by-workflow": "listFinishedByWorkflow",
  "list-finished-by-id": "listFinishedById",
} as const satisfies Record<ListQuery, keyof Statements>;

export interface PostgresOptions {
  readonly url: string;
  /** Where the tables are: a schema that is made if it is not there. */
  readonly schema?: string | undefined;
  /** How many connections there are at most. */
  readonly connections?: number | undefined;
  readonly limits?: Limits | undefined;
}

interface Opened {
  readonly connections: Connections;
  readonly statements: Statements;
  readonly order: CommitOrder;
}

/** Around queries that are to see the same moment. */
const oneMoment = {
  begin: step({ name: "begin-moment", sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" }),
  end: step({ name: "end-moment", sql: "COMMIT" }),
};

/**
 * A store in a PostgreSQL database, for any number of members. Every call is one round trip, and a transaction by itself;
 * every statement in it sees what has been committed before that statement (READ COMMITTED).
 */
export class PostgresStore implements Store {
  readonly clusters = "always";
  readonly lanes: number;
  readonly #address: Address;
  readonly #schema: string;
  readonly #size: number;
  readonly #limits: Limits;
  #opened: Opened | undefined;
  #isOpening = false;
  /** The one that joined last through this store. */
  #member: string | undefined;

  constructor({ url, schema, connections, limits }: PostgresOptions) {
    this.#address = new Address(url);
    this.#schema = schema ?? schemaByDefault;
    this.#size = connections ?? connectionsByDefault;
    this.lanes = commitsOf(this.#size);
    this.#limits = limits ?? limitsByDefault;
    if (!schemaName.test(this.#schema)) {
      throw new EngineError(
        "OPTION_INVALID",
        `A schema is named with small letters, digits and underscores, got ${JSON.stringify(schema)}.`,
      );
    }
    if (!Number.isInteger(this.#size) || this.#size < connectionsMin) {
      throw new EngineError(
        "OPTION_INVALID",
        `The store needs a whole number of connections, at least ${connectionsMin}, got ${JSON.stringify(connections)}.`,
      );
    }
  }

  async open(): Promise<void> {
    if (this.#opened || this.#isOpening) {
      throw new EngineError("STORE_LOCKED", `The database ${this.#address.place} is open already, close it first.`);
    }
    this.#isOpening = true;
    try {
      const statements = loadStatements();
      const options = { address: this.#address, schema: this.#schema, size: this.#size, limits: this.#limits };
      const connections = await Connections.open(options, statements);
      this.#opened = { connections, statements, order: new CommitOrder() };
    } catch (error) {
      throw openingError(error, this.#address, this.#schema);
    } finally {
      this.#isOpening = false;
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#member = undefined;
    await opened?.connections.close();
  }

  async settleShardCount(count: number): Promise<number> {
    const { settleSetting, readSetting } = this.#statements;
    const [, rows] = await this.#run("reads", [step(settleSetting, shardCount, count), step(readSetting, shardCount)]);
    const [row] = rows ?? [];
    assert(row, "a setting just settled has its row");
    return new Columns(row).number("value");
  }

  async join(member: { readonly id: string; readonly address: string }): Promise<void> {
    const { insertMember } = this.#statements;
    await this.#run("life", [step(insertMember, toDisk(member.id), toDisk(member.address))]);
    this.#member = member.id;
    this.#opened?.connections.belongTo(member.id);
  }

  /** Shards are read before members: an owner that is not among the members is gone, and not one that has just come. */
  async beat(member: string, about?: string): Promise<ClusterView> {
    const { beatMember, loadShards, loadMembers } = this.#statements;
    const steps = [
      step(beatMember, toDisk(member), about === undefined ? null : toDisk(about)),
      step(loadShards),
      step(loadMembers),
    ];
    const [, shards, members] = await this.#run("life", steps);
    return { members: mapRows(members, toMember), shards: mapRows(shards, toShard) };
  }

  async removeMember(member: string, ifBeat?: number): Promise<boolean> {
    if (ifBeat !== undefined && member !== this.#member) await this.#endSessions(member, ifBeat);
    const { deleteMember } = this.#statements;
    const box = toDisk(mailboxOf(member));
    const [rows] = await this.#run("life", [step(deleteMember, toDisk(member), ifBeat ?? null, box)]);
    return mapRows(rows, toCount)[0] === 1;
  }

  /**
   * A member that stands still in the middle of sending a commit holds the locks of its shards for as long as it does,
   * so its commits are ended before it is removed, while another try would still come if this one failed. To one that
   * is alive after all it is an answer that was lost. Without the right to do so the locks are waited for.
   */
  async #endSessions(member: string, ifBeat: number): Promise<void> {
    const { endSessions } = this.#statements;
    try {
      await this.#opened?.connections
        .for("life")
        .run([step(endSessions, sessionName("commits", member), toDisk(member), ifBeat)]);
    } catch (error) {
      if (!isNoRight(error)) throw operationError(error, this.#address);
    }
  }

  /**
   * The row is locked first, so that no other claim or commit comes in between. Only then, by another statement and so
   * with another look at the database, the owner found in the row is looked up among the living: it joined before it
   * claimed, so it is seen unless it was removed. If it joins or is removed a moment later, this claim came before.
   * The lock is held by a session for commits, which whoever removes this member ends.
   */
  async claimShard(shard: number, owner: string): Promise<ShardClaim | undefined> {
    const { insertShard, lockShard, claimShard } = this.#statements;
    const steps = [step(insertShard, shard), step(lockShard, shard), step(claimShard, shard, toDisk(owner))];
    const [, [before] = [], [claimed] = []] = await this.#run("commits", steps);
    return before && claimed && toClaim(new Columns(before));
  }

  async commit(batch: Batch): Promise<void> {
    const { statements, order } = this.#mustBeOpen();
    const fences = [...batch.fences];
    assert(fences.length > 0, "a batch has a fence for each shard that it writes");
    const steps = [...writeFences(statements, fences), ...writeChanges(statements, batch.changes)];
    const shards = fences.map(({ shard }) => shard);
    await order.run(shards, () => this.#commit(fences, steps));
  }

  async #commit(fences: readonly Fence[], steps: readonly Step[]): Promise<void> {
    const { connections, statements } = this.#mustBeOpen();
    try {
      await connections.for("commits").run(steps);
    } catch (error) {
      if (!isFenceFault(error)) throw operationError(error, this.#address);
      const [standings = []] = await this.#run("reads", [readStandings(statements, fences)]);
      if (!isNextAfterAll(fences, standings)) return;
      throw new EngineError("STORE_UNAVAILABLE", "A batch came before the one that precedes it, send it again.");
    }
  }

  async loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const after = Math.max(page.after, firstKey(shard) - 1);
    return await this.#all(this.#statements.loadInstances, [after, lastKeyOf(shard), page.limit], toInstance);
  }

  async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    return await this.#all(this.#statements.loadHistory, [bigints(instances)], toHistory);
  }

  async readHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
    return await this.#all(this.#statements.readHistory, [instance, page.afterTurn, page.limit], toHistory);
  }

  async readTasks(instance: number): Promise<TaskRow[]> {
    return await this.#all(this.#statements.readTasks, [instance], toTask);
  }

  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    const rows = await this.#all(this.#statements.readPayloads, [instance, bigints(refs)], (row) => row);
    const bodies = new Map(rows.map((row) => [row.number("ref"), row.text("body")]));
    return refs.map((ref) => {
      const body = bodies.get(ref);
      if (body !== undefined) return body;
      throw new EngineError("STORE_DATA", `Instance ${instance} refers to payload ${ref}, which is not in the store.`);
    });
  }

  async findFinished(id: string): Promise<FinishedRow | undefined> {
    return (await this.#all(this.#statements.findFinished, [toDisk(id)], toFinished))[0];
  }

  async listInstances(filter: InstanceFilter): Promise<InstanceSummary[]> {
    const statements = this.#statements;
    return await listInstances(
      {
        list: async (walks) => {
          const steps = walks.map(({ query, values }) => step(statements[listStatements[query]], ...values));
          const [, ...found] = await this.#run("reads", [oneMoment.begin, ...steps, oneMoment.end]);
          return walks.map((_, index) => mapRows(found[index], toSummary));
        },
        countFinishedById: async ({ first, end, limit }) => {
          const [count] = await this.#all(statements.countFinishedById, [first, end, limit], toCount);
          assert(count !== undefined, "a count has a row");
          return count;
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
    return await this.#all(this.#statements.finishedBefore, values, (row) => ({
      key: row.number("key"),
      id: row.text("id"),
    }));
  }

  async loadOutbox(targets: readonly number[]): Promise<OutboxRow[]> {
    return await this.#all(this.#statements.loadOutbox, [bigints(targets)], toOutbox);
  }

  async loadOffsets(shard: number): Promise<OffsetRow[]> {
    return await this.#all(this.#statements.loadOffsets, [shard], toOffset);
  }

  async loadSent(source: number): Promise<{ target: number; number: number }[]> {
    return await this.#all(this.#statements.loadSent, [source], toSent);
  }

  async findRequest(shard: number, key: string): Promise<RequestRow | undefined> {
    return (await this.#all(this.#statements.readRequest, [shard, toDisk(key)], toRequest))[0];
  }

  async post(mail: { readonly box: string; readonly body: string; readonly at: number }): Promise<void> {
    await this.#write(this.#statements.insertMailboxRow, [toDisk(mail.box), toDisk(mail.body), mail.at]);
  }

  async readMailbox(boxes: readonly string[], limit: number): Promise<MailboxRow[]> {
    return await this.#all(this.#statements.readMailbox, [texts(boxes), limit], toMailboxRow);
  }

  async deleteFromMailbox(ids: readonly number[]): Promise<void> {
    await this.#write(this.#statements.deleteFromMailbox, [bigints(ids)]);
  }

  async deleteMailboxRowsBefore(at: number): Promise<void> {
    await this.#write(this.#statements.deleteMailboxRowsBefore, [at]);
  }

  async loadDomains(): Promise<DomainRow[]> {
    return await this.#all(this.#statements.loadDomains, [], toDomain);
  }

  async declareDomains(domains: readonly DomainRow[]): Promise<void> {
    await this.#write(this.#statements.declareDomain, domainColumns(domains));
  }

  async saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void> {
    await this.#write(this.#statements.insertDefinition, definitionColumns(definitions));
  }

  async loadDefinition(name: string, version: string): Promise<DefinitionRow | undefined> {
    return (await this.#all(this.#statements.loadDefinition, [toDisk(name), toDisk(version)], toDefinition))[0];
  }

  async latestDefinition(name: string): Promise<DefinitionRow | undefined> {
    return (await this.#all(this.#statements.latestDefinition, [toDisk(name)], toDefinition))[0];
  }

  async listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]> {
    const values = [toDisk(name), page.before ?? Number.MAX_SAFE_INTEGER, page.limit];
    return await this.#all(this.#statements.listDefinitions, values, toSavedDefinition);
  }

  async loadJobs(): Promise<JobRow[]> {
    return await this.#all(this.#statements.loadJobs, [], toJob);
  }

  async saveJobs(jobs: readonly JobRow[]): Promise<void> {
    await this.#write(this.#statements.saveJob, jobColumns(jobs));
  }

  async deleteJobs(ids: readonly string[]): Promise<void> {
    await this.#write(this.#statements.deleteJob, [texts(ids)]);
  }

  async findDocument(kind: string, name: string): Promise<DocumentRow | undefined> {
    return (await this.#all(this.#statements.findDocument, [toDisk(kind), toDisk(name)], toDocument))[0];
  }

  async listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]> {
    const values = [toDisk(kind), toDiskOrNull(page.after ?? null), page.limit];
    return await this.#all(this.#statements.listDocuments, values, toDocument);
  }

  async saveDocument(document: DocumentRow): Promise<boolean> {
    const { kind, name, revision, at, body } = document;
    const { insertDocument, updateDocument } = this.#statements;
    const values = [toDisk(kind), toDisk(name), revision, at, toDisk(body)];
    const [written = []] = await this.#run("reads", [
      step(revision === 1 ? insertDocument : updateDocument, ...values),
    ]);
    return written.length === 1 || isSameDocument(await this.findDocument(kind, name), document);
  }

  async deleteDocument(kind: string, name: string, revision: number): Promise<boolean> {
    const { deleteDocument } = this.#statements;
    const [deleted = []] = await this.#run("reads", [step(deleteDocument, toDisk(kind), toDisk(name), revision)]);
    return deleted.length === 1;
  }

  async appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void> {
    const { appendLines } = this.#statements;
    if (lines.length > 0) await this.#write(appendLines, lineColumns(lines));
  }

  async readLines(topic: string, page: LinePage): Promise<LineRow[]> {
    const { readLines, readLastLines } = this.#statements;
    const { after = 0, before = Number.MAX_SAFE_INTEGER, limit } = page;
    const values = [toDisk(topic), after, before, limit];
    if (!page.last) return await this.#all(readLines, values, toLine);
    return (await this.#all(readLastLines, values, toLine)).reverse();
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    const prefix = toDisk(topicPrefix);
    for (let from = Number.MIN_SAFE_INTEGER; ;) {
      const values = [prefix, before, from, linesDeletedAtOnceMax];
      const [last] = await this.#all(this.#statements.deleteLines, values, (row) => ({
        found: toCount(row),
        at: row.number("lastAt"),
      }));
      assert(last !== undefined, "a count has a row");
      if (last.found < linesDeletedAtOnceMax) return;
      from = last.at;
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    for (let found = linesDeletedAtOnceMax; found === linesDeletedAtOnceMax;) {
      const values = [toDisk(topic), linesDeletedAtOnceMax];
      [found = 0] = await this.#all(this.#statements.deleteTopic, values, toCount);
    }
  }

  async #all<Result>(
    statement: Statement,
    values: readonly Value[],
    toResult: (row: Columns) => Result,
  ): Promise<Result[]> {
    const [rows] = await this.#run("reads", [{ statement, values }]);
    return mapRows(rows, toResult);
  }

  async #write(statement: Statement, values: readonly Value[]): Promise<void> {
    await this.#run("reads", [{ statement, values }]);
  }

  async #run(use: SessionUse, steps: readonly Step[]): Promise<Row[][]> {
    const { connections } = this.#mustBeOpen();
    try {
      return await connections.for(use).run(steps);
    } catch (error) {
      throw operationError(error, this.#address);
    }
  }

  get #statements(): Statements {
    return this.#mustBeOpen().statements;
  }

  #mustBeOpen(): Opened {
    if (!this.#opened) throw new EngineError("ENGINE_STATE", `The database ${this.#address.place} is not open.`);
    return this.#opened;
  }
}

function step(statement: Statement, ...values: readonly Value[]): Step {
  return { statement, values };
}

function mapRows<Result>(rows: readonly Row[] | undefined, toResult: (row: Columns) => Result): Result[] {
  return (rows ?? []).map((row) => toResult(new Columns(row)));
}

function toCount(row: Columns): number {
  return row.number("found");
}
