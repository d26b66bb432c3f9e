import { assert } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { EndStatus } from "../../kernel/status.ts";
import { CommitOrder } from "../commit-order.ts";
import { isSameDocument } from "../document.ts";
import { firstKey, lastKeyOf } from "../instance-key.ts";
import { mailboxOf } from "../mailbox.ts";
import { listInstances, type ListValues } from "../listing.ts";
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
import { type Address, parseAddress } from "./address.ts";
import type { Result } from "./connection.ts";
import { Connections, connectionsMin, type Limits, type Use } from "./connections.ts";
import { isNotEnded, openingError, operationError } from "./faults.ts";
import { oneMoment } from "./one-moment.ts";
import {
  bound,
  list,
  type Literal,
  nothing,
  row,
  sql,
  stored,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from "./literal.ts";
import { rowsPerStatementMax, Script, settings, transaction } from "./script.ts";
import { findNamed } from "./session-name.ts";
import type { Statement } from "./statement.ts";
import { statements } from "./statements.ts";
import { definitionRows, domainRows, jobRows, writeChanges } from "./write-changes.ts";
import { land, writeFences } from "./write-fences.ts";

const connectionsByDefault = 9;
const limitsByDefault: Limits = { workMs: 30_000, lifeMs: 10_000 };

/** The name of the number of shards among the settings. */
const shardCount = text("shard_count");

/** Deleting more at once could take longer than a call may. */
const linesDeletedAtOnceMax = 5000;

export interface MysqlOptions {
  readonly url: string;
  /** How many connections there are at most. */
  readonly connections?: number | undefined;
  readonly limits?: Limits | undefined;
}

interface Opened {
  readonly connections: Connections;
  readonly order: CommitOrder;
}

/**
 * A store in a MySQL or MariaDB database, for any number of members. Every call is one packet, which the server brings to
 * its end by itself: a client that is stopped or cut off in the middle of a call holds no locks. Only a transaction that
 * is larger than a packet may be is several, and for that see `transaction`.
 */
export class MysqlStore implements Store {
  readonly clusters = "always";
  readonly lanes: number = 1;
  readonly #address: Address;
  readonly #size: number;
  readonly #limits: Limits;
  #opened: Opened | undefined;
  #isOpening = false;
  /** The one that joined last through this store. */
  #member: string | undefined;

  constructor({ url, connections = connectionsByDefault, limits = limitsByDefault }: MysqlOptions) {
    this.#address = parseAddress(url);
    this.#size = connections;
    this.#limits = limits;
    if (!Number.isInteger(connections) || connections < connectionsMin) {
      throw new EngineError(
        "OPTION_INVALID",
        `The store needs a whole number of connections, at least ${connectionsMin}, got ${JSON.stringify(connections)}.`,
      );
    }
  }

  async open(): Promise<void> {
    if (this.#opened || this.#isOpening) {
      throw new EngineError("STORE_LOCKED", `The database ${this.#address.shown} is open already, close it first.`);
    }
    this.#isOpening = true;
    try {
      const connections = await Connections.open({ address: this.#address, size: this.#size, limits: this.#limits });
      this.#opened = { connections, order: new CommitOrder() };
    } catch (error) {
      throw openingError(error, this.#address);
    } finally {
      this.#isOpening = false;
    }
  }

  async close(): Promise<void> {
    this.#opened?.connections.close();
    this.#opened = undefined;
    this.#member = undefined;
  }

  async settleShardCount(count: number): Promise<number> {
    const { settleSetting, readSetting } = statements;
    const settle = settleSetting.with(shardCount, whole(count));
    const [, rows] = await this.#send("rest", settle, readSetting.with(shardCount));
    const [settled] = mapRows(rows, (found) => found.number("value"));
    assert(settled !== undefined, "a setting just settled has its row");
    return settled;
  }

  async join(member: { readonly id: string; readonly address: string }): Promise<void> {
    await this.#send("life", statements.insertMember.with(text(member.id), text(member.address)));
    this.#member = member.id;
    this.#opened?.connections.belongTo(member.id);
  }

  /** The beat is a transaction by itself. Members and shards are read after it, both as of one moment. */
  async beat(member: string, about?: string): Promise<ClusterView> {
    const [, , , members, shards] = await this.#send(
      "life",
      statements.beatMember.with(text(member), textOrNull(about ?? null)),
      ...oneMoment.begin,
      statements.loadMembers.with(),
      statements.loadShards.with(),
      ...oneMoment.end,
    );
    return { members: mapRows(members, toMember), shards: mapRows(shards, toShard) };
  }

  async removeMember(member: string, ifBeat?: number): Promise<boolean> {
    if (ifBeat !== undefined && member !== this.#member) await this.#endCommits(member, ifBeat);
    const [, removed] = await this.#send(
      "life",
      "START TRANSACTION",
      statements.deleteMember.with(text(member), wholeOrNull(ifBeat ?? null)),
      "SET @heddle_removed = ROW_COUNT()",
      statements.deleteMailbox.with(text(mailboxOf(member))),
      "COMMIT",
    );
    return changedRows(removed) === 1;
  }

  /**
   * A commit that waits for something in the server, or whose sender was stopped in the middle of it, holds the locks of
   * its shards for as long as it does. So commits of a member are ended before it is removed, while another try would
   * still come if this one failed. To one that is alive after all it is an answer that was lost. Where the server does
   * not allow it, because members log in as different users, the locks are waited for.
   */
  async #endCommits(member: string, ifBeat: number): Promise<void> {
    const { database } = this.#address;
    const [rows] = await this.#send("life", findNamed({ member, database, ifBeat }));
    const [ids = ""] = mapRows(rows, (found) => found.word("ids"));
    for (const id of ids.split(",").filter(Boolean)) {
      await this.#send("life", sql`KILL ${whole(Number(id))}`).catch((error: unknown) => {
        if (!isNotEnded(error)) throw error;
      });
    }
  }

  /**
   * The row is locked first, so that no other claim or commit comes in between. Only then, by another statement and so
   * with another look at the database, the owner found in the row is looked up among the living: it joined before it
   * claimed, so it is seen unless it was removed, and one that was removed never comes back. If it is removed a moment
   * later, this claim came before.
   */
  async claimShard(shard: number, owner: string): Promise<ShardClaim | undefined> {
    const number = whole(shard);
    const [, , before, claimed] = await this.#send(
      "rest",
      "START TRANSACTION",
      statements.insertShard.with(number),
      statements.readShard.with(number),
      statements.claimShard.with(number, text(owner)),
      "COMMIT",
    );
    return changedRows(claimed) === 1 ? mapRows(before, toClaim)[0] : undefined;
  }

  async commit({ fences, changes }: Batch): Promise<void> {
    const { connections, order } = this.#mustBeOpen();
    // Everything of the batch is in the packets from here on.
    const packets = transaction(writeFences(fences), writeChanges(changes), connections.packetBytesMax);
    const until = connections.untilOf("commits");
    const shards = fences.map(({ shard }) => shard);
    await this.#sorted(() =>
      order.run(shards, () =>
        connections.use("commits", until, (connection) => land(connection, { packets, fences, until })),
      ),
    );
  }

  async loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const after = Math.max(page.after, firstKey(shard) - 1);
    const values = [whole(after), whole(lastKeyOf(shard)), whole(page.limit)];
    return await this.#all(statements.loadInstances.with(...values), toInstance);
  }

  async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    return await this.#allOf(instances, statements.loadHistory, toHistory);
  }

  async readHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
    const values = [whole(instance), whole(page.afterTurn), whole(page.limit)];
    return await this.#all(statements.readHistory.with(...values), toHistory);
  }

  async readTasks(instance: number): Promise<TaskRow[]> {
    return await this.#all(statements.readTasks.with(whole(instance)), toTask);
  }

  async readPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    if (refs.length === 0) return [];
    const query = statements.readPayloads.with(whole(instance), list(refs.map(whole)));
    const bodies = new Map(
      await this.#all(query, (found): [number, string] => [found.number("ref"), found.text("body")]),
    );
    return refs.map((ref) => {
      const body = bodies.get(ref);
      if (body !== undefined) return body;
      throw new EngineError("STORE_DATA", `Instance ${instance} refers to payload ${ref}, which is not in the store.`);
    });
  }

  async findFinished(id: string): Promise<FinishedRow | undefined> {
    return await this.#first(statements.findFinished.with(text(id)), toFinished);
  }

  async listInstances(filter: InstanceFilter): Promise<InstanceSummary[]> {
    return await listInstances(
      {
        list: async (walks) => {
          const queries = walks.map(({ query, values }) => statements[query].with(...listLiterals(values)));
          const results = await this.#send("rest", ...oneMoment.begin, ...queries, ...oneMoment.end);
          return walks.map((_, index) => mapRows(results[oneMoment.begin.length + index], toSummary));
        },
        countFinishedById: async ({ first, end, limit }) => {
          const query = statements.countFinishedById.with(...listLiterals([first, end, limit]));
          const found = await this.#first(query, (counted) => counted.number("found"));
          assert(found !== undefined, "a count has a row");
          return found;
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
    const values = [text(filter.status), bound(filter.endedBefore), whole(filter.limit)];
    return await this.#all(statements.finishedBefore.with(...values), (found) => ({
      key: found.number("key"),
      id: found.text("id"),
    }));
  }

  async loadOutbox(targets: readonly number[]): Promise<OutboxRow[]> {
    return await this.#allOf(targets, statements.loadOutbox, toOutbox);
  }

  async loadOffsets(shard: number): Promise<OffsetRow[]> {
    return await this.#all(statements.loadOffsets.with(whole(shard)), toOffset);
  }

  async loadSent(source: number): Promise<{ target: number; number: number }[]> {
    return await this.#all(statements.loadSent.with(whole(source)), toSent);
  }

  async findRequest(shard: number, key: string): Promise<RequestRow | undefined> {
    return await this.#first(statements.readRequest.with(whole(shard), text(key)), toRequest);
  }

  async post(mail: { readonly box: string; readonly body: string; readonly at: number }): Promise<void> {
    await this.#write(statements.insertMailboxRow, [row(text(mail.box), text(mail.body), whole(mail.at))]);
  }

  async readMailbox(boxes: readonly string[], limit: number): Promise<MailboxRow[]> {
    if (boxes.length === 0) return this.#nothing();
    return await this.#all(statements.readMailbox.with(list(boxes.map(text)), whole(limit)), toMailboxRow);
  }

  async deleteFromMailbox(ids: readonly number[]): Promise<void> {
    await this.#write(statements.deleteFromMailbox, ids.toSorted((a, b) => a - b).map(whole));
  }

  async deleteMailboxRowsBefore(at: number): Promise<void> {
    await this.#write(statements.deleteMailboxRowsBefore, [bound(at)]);
  }

  async loadDomains(): Promise<DomainRow[]> {
    return await this.#all(statements.loadDomains.with(), toDomain);
  }

  async declareDomains(domains: readonly DomainRow[]): Promise<void> {
    await this.#write(statements.declareDomain, domainRows(domains));
  }

  async saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void> {
    await this.#write(statements.insertDefinition, definitionRows(definitions));
  }

  async loadDefinition(name: string, version: string): Promise<DefinitionRow | undefined> {
    return await this.#first(statements.loadDefinition.with(text(name), text(version)), toDefinition);
  }

  async latestDefinition(name: string): Promise<DefinitionRow | undefined> {
    return await this.#first(statements.latestDefinition.with(text(name)), toDefinition);
  }

  async listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]> {
    const values = [text(name), whole(page.before ?? Number.MAX_SAFE_INTEGER), whole(page.limit)];
    return await this.#all(statements.listDefinitions.with(...values), toSavedDefinition);
  }

  async loadJobs(): Promise<JobRow[]> {
    return await this.#all(statements.loadJobs.with(), toJob);
  }

  async saveJobs(jobs: readonly JobRow[]): Promise<void> {
    await this.#write(statements.saveJob, jobRows(jobs));
  }

  async deleteJobs(ids: readonly string[]): Promise<void> {
    await this.#write(statements.deleteJob, ids.toSorted().map(text));
  }

  async findDocument(kind: string, name: string): Promise<DocumentRow | undefined> {
    return await this.#first(statements.findDocument.with(text(kind), text(name)), toDocument);
  }

  async listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]> {
    const values = [text(kind), textOrNull(page.after ?? null), whole(page.limit)];
    return await this.#all(statements.listDocuments.with(...values), toDocument);
  }

  /** How many rows a statement changed does not tell whether one was inserted or left as it is, so it is looked up. */
  async saveDocument(document: DocumentRow): Promise<boolean> {
    const { revision, at, body } = document;
    const [kind, name] = [text(document.kind), text(document.name)];
    const statement = revision === 1 ? statements.insertDocument : statements.updateDocument;
    const [, , found] = await this.#send(
      "rest",
      "START TRANSACTION",
      statement.with(kind, name, whole(revision), whole(at), text(body)),
      statements.findDocument.with(kind, name),
      "COMMIT",
    );
    return isSameDocument(mapRows(found, toDocument)[0], document);
  }

  async deleteDocument(kind: string, name: string, revision: number): Promise<boolean> {
    const [deleted] = await this.#send("rest", statements.deleteDocument.with(text(kind), text(name), whole(revision)));
    return changedRows(deleted) === 1;
  }

  async appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void> {
    const rows = lines.map(({ topic, at, body }) => row(text(topic), whole(at), text(body)));
    await this.#write(statements.insertLine, rows, [statements.lockLogLines.with()]);
  }

  async readLines(topic: string, page: LinePage): Promise<LineRow[]> {
    const { after = 0, before = Number.MAX_SAFE_INTEGER, limit } = page;
    const values = [text(topic), whole(after), whole(before), whole(limit)];
    if (!page.last) return await this.#all(statements.readLines.with(...values), toLine);
    return (await this.#all(statements.readLastLines.with(...values), toLine)).reverse();
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    for (let from = Number.MIN_SAFE_INTEGER; ;) {
      const values = [text(topicPrefix), bound(before), whole(from), whole(linesDeletedAtOnceMax)];
      const found = await this.#all(statements.findOldLines.with(...values), (line) => ({
        number: line.number("number"),
        at: line.number("at"),
      }));
      const numbers = found.map(({ number }) => number).sort((a, b) => a - b);
      await this.#write(statements.deleteLines, numbers.map(whole));
      if (found.length < linesDeletedAtOnceMax) return;
      from = found.at(-1)?.at ?? from;
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    for (;;) {
      const query = statements.findTopicLines.with(text(topic), whole(linesDeletedAtOnceMax));
      const numbers = await this.#all(query, (line) => line.number("number"));
      await this.#write(statements.deleteLines, numbers.map(whole));
      if (numbers.length < linesDeletedAtOnceMax) return;
    }
  }

  async #first<Row>(query: Literal, toRow: (found: Columns) => Row): Promise<Row | undefined> {
    return (await this.#all(query, toRow))[0];
  }

  async #all<Row>(query: Literal, toRow: (found: Columns) => Row): Promise<Row[]> {
    const [rows] = await this.#send("rest", query);
    return mapRows(rows, toRow);
  }

  /** In the order of the keys, each once, whatever number of statements that takes. */
  async #allOf<Row>(keys: readonly number[], query: Statement, toRow: (found: Columns) => Row): Promise<Row[]> {
    const sorted = [...new Set(keys)].sort((a, b) => a - b).map(whole);
    if (sorted.length === 0) return this.#nothing();
    const queries: Literal[] = [];
    for (let from = 0; from < sorted.length; from += rowsPerStatementMax) {
      queries.push(query.with(list(sorted.slice(from, from + rowsPerStatementMax))));
    }
    return (await this.#send("rest", ...queries)).flatMap((rows) => mapRows(rows, toRow));
  }

  /** Nothing was asked for; a store that is closed says so all the same. */
  #nothing(): [] {
    this.#mustBeOpen();
    return [];
  }

  /** All of the rows or none; `opening` comes before them in the transaction. */
  async #write(statement: Statement, rows: readonly Literal[], opening: readonly Literal[] = []): Promise<void> {
    const { connections } = this.#mustBeOpen();
    if (rows.length === 0) return;
    const script = new Script();
    script.add(statement, rows);
    const packets = transaction(opening, script, connections.packetBytesMax);
    const until = connections.untilOf("rest");
    await this.#sorted(() =>
      connections.use("rest", until, async (connection) => {
        for (const packet of packets) await connection.send(packet, until - performance.now());
      }),
    );
  }

  /** In one packet; gives what each statement gave. */
  async #send(use: Use, ...script: readonly string[]): Promise<Result[]> {
    const { connections } = this.#mustBeOpen();
    const until = connections.untilOf(use);
    const packet = [settings, ...script].join(";");
    const send = () => connections.use(use, until, (connection) => connection.send(packet, until - performance.now()));
    const [, ...results] = await this.#sorted(send);
    return results;
  }

  /** Errors as the store's callers know them. */
  async #sorted<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work();
    } catch (error) {
      throw operationError(error, this.#address);
    }
  }

  #mustBeOpen(): Opened {
    if (!this.#opened) throw new EngineError("ENGINE_STATE", `The database ${this.#address.shown} is not open.`);
    return this.#opened;
  }
}

function mapRows<Row>(result: Result | undefined, toRow: (found: Columns) => Row): Row[] {
  assert(Array.isArray(result), "a query gives rows");
  return result.map((found) => toRow(new Columns(found)));
}

function changedRows(result: Result | undefined): number {
  assert(result !== undefined && !Array.isArray(result), "a statement that writes gives a number");
  return result.affectedRows;
}

function listLiterals(values: ListValues): Literal[] {
  return values.map((value) => {
    if (value === null) return nothing;
    return typeof value === "number" ? bound(value) : stored(value);
  });
}
