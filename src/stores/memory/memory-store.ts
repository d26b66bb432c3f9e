import { setImmediate } from "node:timers/promises";
import { EngineError } from "../../base/error.ts";
import type { EndStatus } from "../../kernel/status.ts";
import { isNextBatch } from "../fence-check.ts";
import { type DatabaseClock, machineClock } from "../database-clock.ts";
import { firstKey, lastKeyOf } from "../instance-key.ts";
import { mailboxesOf } from "../mailbox.ts";
import { numberBefore } from "../message-number.ts";
import { isSameDocument } from "../document.ts";
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
import { compareOnDisk, toDisk } from "../text.ts";
import type { RowCounts } from "../row-counts.ts";
import { turnsIn } from "../turn-text.ts";
import { listInstances } from "./list-instances.ts";
import { definitionKey, documentKey, requestKey, Tables } from "./tables.ts";

export interface MemoryBackup {
  readonly tables: Tables;
}

/**
 * A store in memory, for tests. Committed data outlive `close`, so that an engine can be restarted on the same object.
 * The object is one connection; the other members of a cluster have each their own, by `connect`.
 */
export class MemoryStore implements Store {
  readonly clusters = "possible";
  readonly lanes: number = 1;
  #tables = new Tables();
  readonly #delay: () => Promise<void>;
  readonly #clock: DatabaseClock;
  #commits: Promise<void> = Promise.resolve();
  #isOpen = false;

  /**
   * A commit takes as long as `delay`, one event-loop turn by default: an engine runs ahead of it as of a real one. `clock`
   * is the database's clock, that of the machine by default.
   */
  constructor(options: { delay?: () => Promise<void>; clock?: DatabaseClock } = {}) {
    this.#delay = options.delay ?? setImmediate;
    this.#clock = options.clock ?? machineClock;
  }

  /** Another connection to the same tables, closed as yet. Its commits take as long, and do not wait for those of this one. */
  connect(): MemoryStore {
    const other = new MemoryStore({ delay: this.#delay, clock: this.#clock });
    other.#tables = this.#tables;
    return other;
  }

  /** Makes a backup of all rows, for tests of what follows when it is restored. */
  backUp(): MemoryBackup {
    const tables = new Tables();
    tables.replaceBy(this.#tables);
    return { tables };
  }

  /** Takes all connections back to the rows of the backup, as an operator of a database may. */
  restore({ tables }: MemoryBackup): void {
    this.#tables.replaceBy(tables);
  }

  async open(): Promise<void> {
    if (this.#isOpen)
      throw new EngineError(
        "STORE_LOCKED",
        "the memory store is open already; close it first, or give each engine its own connect()",
      );
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    await this.#commits;
    this.#isOpen = false;
  }

  async settleShardCount(count: number): Promise<number> {
    const { settings } = this.#read();
    if (!settings.has("shard_count")) settings.set("shard_count", count);
    return settings.get("shard_count") ?? count;
  }

  async join({ id, address }: { readonly id: string; readonly address: string }): Promise<void> {
    const { members } = this.#read();
    if (!members.has(id)) members.set(id, { id, address, about: "", heartbeat: 0 });
  }

  async heartbeat(member: string, about?: string, since?: number): Promise<ClusterView> {
    const { members, shards, settings } = this.#read();
    const row = members.get(member);
    if (row) members.set(member, { ...row, about: about ?? row.about, heartbeat: row.heartbeat + 1 });
    const isWanted = (row: { epoch: number; owner: string; released: boolean }): boolean =>
      since === undefined || row.owner === member || row.released || row.epoch >= since;
    const rows = [...shards].flatMap(([shard, { epoch, owner, lastBatch, released }]) => {
      const row = { shard, epoch, owner, lastBatch, released };
      return isWanted(row) ? [row] : [];
    });
    return {
      incarnation: settings.get("incarnation") ?? 0,
      members: copies([...members.values()].sort((a, b) => (a.id < b.id ? -1 : 1))),
      shards: rows.sort((a, b) => a.shard - b.shard),
      ...(since !== undefined && { seconds: Math.floor(this.#clock.now() / 1000) }),
    };
  }

  async renewLease(member: string, atLeast: number): Promise<boolean> {
    const { members } = this.#read();
    const row = members.get(member);
    if (row === undefined || row.heartbeat < atLeast) return false;
    members.set(member, { ...row, heartbeat: row.heartbeat + 1 });
    return true;
  }

  async removeMember(member: string, ifHeartbeat?: number): Promise<boolean> {
    const { members, mail } = this.#read();
    const row = members.get(member);
    if (row === undefined || row.heartbeat !== (ifHeartbeat ?? row.heartbeat)) return false;
    members.delete(member);
    const mailboxes = mailboxesOf(member);
    for (const { id, mailbox } of mail.values()) if (mailboxes.includes(mailbox)) mail.delete(id);
    return true;
  }

  async claimShard(shard: number, owner: string): Promise<ShardClaim | undefined> {
    const { shards, members, settings } = this.#read();
    const incarnation = settings.get("incarnation") ?? 0;
    const before = shards.get(shard) ?? { epoch: 0, owner: "", lastBatch: 0, lastKey: 0, released: true };
    if (before.owner !== owner && !before.released && members.has(before.owner)) return undefined;
    const { lastBatch, lastKey, released } = before;
    const epoch = Math.max(before.epoch + 1, Math.floor(this.#clock.now() / 1000));
    shards.set(shard, { epoch, owner, lastBatch, lastKey, released: false });
    return { epoch, incarnation, lastBatch, lastKey, released, previousOwner: before.owner };
  }

  async beginIncarnation(): Promise<number> {
    const tables = this.#read();
    const seconds = Math.floor(this.#clock.now() / 1000);
    const last = tables.settings.get("incarnation") ?? 0;
    const next = Math.max(last + 1, seconds);
    tables.settings.set("incarnation", next);
    for (const [shard, row] of tables.shards) {
      tables.shards.set(shard, { ...row, epoch: Math.max(row.epoch + 1, seconds) });
    }
    tables.renumber(numberBefore(next) - numberBefore(last));
    return next;
  }

  async countRows(): Promise<RowCounts> {
    const tables = this.#read();
    return {
      unfinished: tables.instances.size,
      finished: tables.finished.size,
      messages: tables.outbox.size,
      mails: tables.mail.size,
      requests: tables.requests.size,
      definitions: tables.definitions.size,
      jobs: tables.jobs.size,
      domains: tables.domains.size,
      documents: tables.documents.size,
      logLines: tables.lines.size,
    };
  }

  /** Lands after the delay and in the order of the calls, as on one connection to a database. */
  async commit(batch: Batch): Promise<void> {
    this.#read();
    const copy = structuredClone(batch);
    const landing = this.#commits.then(async () => {
      await this.#delay();
      if (!isNextBatch(copy.fences, (shard) => this.#tables.shards.get(shard))) return;
      this.#tables.checkNew(copy.changes);
      this.#tables.apply(copy);
    });
    this.#commits = landing.catch(() => undefined);
    return landing;
  }

  async listUnfinished(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]> {
    const after = Math.max(page.after, firstKey(shard) - 1);
    const rows = [...this.#read().instances.values()].filter((row) => row.key > after && row.key <= lastKeyOf(shard));
    return copies(rows.sort((a, b) => a.key - b.key).slice(0, page.limit));
  }

  async loadHistory(instances: readonly number[]): Promise<HistoryRow[]> {
    const keys = [...new Set(instances)].sort((a, b) => a - b);
    return keys.flatMap((key) => this.#history(key));
  }

  async listHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]> {
    return this.#history(instance)
      .filter((row) => row.turn > page.afterTurn)
      .slice(0, page.limit);
  }

  async loadPayloads(instance: number, refs: readonly number[]): Promise<string[]> {
    const rows = this.#read().payloads.get(instance);
    return refs.map((ref) => {
      const row = rows?.get(`${ref}`);
      if (row) return row.body;
      throw new EngineError("STORE_DATA", `instance ${instance} refers to payload ${ref}, which is not in the store`);
    });
  }

  async findFinished(id: string): Promise<FinishedRow | undefined> {
    const rows = [...this.#read().finished.values()].filter((row) => row.id === id);
    return copies(rows.sort((a, b) => b.key - a.key))[0];
  }

  async listInstances(filter: StoredFilter): Promise<InstanceSummary[]> {
    return listInstances(this.#read(), filter);
  }

  async listFinishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]> {
    const ended = (row: FinishedRow) => row.status === filter.status && row.endedAt < filter.endedBefore;
    const rows = [...this.#read().finished.values()].filter(ended);
    const oldestFirst = rows.sort((a, b) => a.createdAt - b.createdAt || a.key - b.key);
    return oldestFirst.slice(0, filter.limit).map(({ key, id }) => ({ key, id }));
  }

  async loadOutbox(targets: readonly number[]): Promise<OutboxRow[]> {
    const rows = [...this.#read().outbox.values()].filter((row) => targets.includes(row.target));
    return copies(rows.sort((a, b) => a.target - b.target || a.source - b.source || a.number - b.number));
  }

  async loadOutboxOf(source: number): Promise<OutboxRow[]> {
    const rows = [...this.#read().outbox.values()].filter((row) => row.source === source);
    return copies(rows.sort((a, b) => a.target - b.target || a.number - b.number));
  }

  async loadOffsets(shard: number): Promise<OffsetRow[]> {
    const rows = [...this.#read().offsets.values()].filter((row) => row.shard === shard);
    return copies(rows.sort((a, b) => a.source - b.source));
  }

  async loadSent(source: number): Promise<{ target: number; number: number }[]> {
    const rows = [...this.#read().sent.values()].filter((row) => row.source === source);
    return rows.map(({ target, number }) => ({ target, number })).sort((a, b) => a.target - b.target);
  }

  async findRequest(shard: number, key: string): Promise<RequestRow | undefined> {
    return copy(this.#read().requests.get(requestKey(shard, key)));
  }

  async post({
    mailbox,
    body,
    at,
  }: {
    readonly mailbox: string;
    readonly body: string;
    readonly at: number;
  }): Promise<void> {
    const tables = this.#read();
    const id = (tables.lastMail += 1);
    tables.mail.set(id, { id, mailbox, body, at });
  }

  async listMailboxRows(mailboxes: readonly string[], limit: number): Promise<MailboxRow[]> {
    const rows = [...this.#read().mail.values()].filter((row) => mailboxes.includes(row.mailbox));
    return rows.slice(0, limit).map(({ id, mailbox, body }) => ({ id, mailbox, body }));
  }

  async deleteMailboxRows(ids: readonly number[]): Promise<void> {
    const { mail } = this.#read();
    for (const id of ids) mail.delete(id);
  }

  async deleteMailboxRowsBefore(at: number): Promise<void> {
    const { mail } = this.#read();
    for (const row of mail.values()) if (row.at < at) mail.delete(row.id);
  }

  async loadDomains(): Promise<DomainRow[]> {
    return copies([...this.#read().domains.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
  }

  async declareDomains(declared: readonly DomainRow[]): Promise<void> {
    const { domains } = this.#read();
    for (const domain of copies(declared)) if (!domains.has(domain.name)) domains.set(domain.name, domain);
  }

  async saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void> {
    const tables = this.#read();
    for (const row of copies(definitions)) tables.saveDefinition(row);
  }

  async findDefinition(name: string, version: string): Promise<DefinitionRow | undefined> {
    return copy(this.#read().definitions.get(definitionKey(name, version)));
  }

  async findLatestDefinition(name: string): Promise<DefinitionRow | undefined> {
    return copy([...this.#read().definitions.values()].findLast((row) => row.name === name));
  }

  async listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]> {
    const { limit, before = Infinity } = page;
    const saved = [...this.#read().definitions.values()].map((row, index) => ({ saveNumber: index + 1, ...row }));
    const asked = saved.filter((row) => row.name === name && row.saveNumber < before);
    return asked.reverse().slice(0, limit);
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

  async findDocument(kind: string, name: string): Promise<DocumentRow | undefined> {
    return copy(this.#read().documents.get(documentKey(kind, name)));
  }

  async listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]> {
    const { after, limit } = page;
    const isAsked = (row: DocumentRow) =>
      row.kind === kind && (after === undefined || compareOnDisk(row.name, after) > 0);
    const rows = [...this.#read().documents.values()].filter(isAsked);
    return copies(rows.sort((a, b) => compareOnDisk(a.name, b.name)).slice(0, limit));
  }

  async saveDocument(document: DocumentRow): Promise<boolean> {
    const { documents } = this.#read();
    const key = documentKey(document.kind, document.name);
    const there = documents.get(key);
    if (document.revision !== (there?.revision ?? 0) + 1) return isSameDocument(there, document);
    documents.set(key, { ...document });
    return true;
  }

  async deleteDocument(kind: string, name: string, revision: number): Promise<boolean> {
    const { documents } = this.#read();
    const key = documentKey(kind, name);
    return documents.get(key)?.revision === revision && documents.delete(key);
  }

  async appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void> {
    const tables = this.#read();
    for (const { topic, at, body } of lines) {
      const number = (tables.lastLine += 1);
      tables.lines.set(number, { number, topic, at, body });
    }
  }

  async listLines(topic: string, page: LinePage): Promise<LineRow[]> {
    const { after = 0, before = Infinity, last = false, limit } = page;
    const isOnPage = ({ number }: LineRow): boolean => number > after && number < before;
    const rows = [...this.#read().lines.values()].filter((row) => row.topic === topic && isOnPage(row));
    return copies(last ? rows.slice(Math.max(0, rows.length - limit)) : rows.slice(0, limit));
  }

  async deleteLines(topicPrefix: string, before: number): Promise<void> {
    const { lines } = this.#read();
    const prefix = toDisk(topicPrefix);
    for (const { number, topic, at } of lines.values()) {
      if (at < before && toDisk(topic).startsWith(prefix)) lines.delete(number);
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    const { lines } = this.#read();
    for (const line of lines.values()) if (line.topic === topic) lines.delete(line.number);
  }

  #history(instance: number): HistoryRow[] {
    const { history, instances, finished } = this.#read();
    const rows = copies([...(history.get(instance)?.values() ?? [])]);
    for (const text of [instances.get(instance)?.history, finished.get(instance)?.history]) {
      if (typeof text === "string") rows.push(...turnsIn(text, instance));
    }
    return rows.sort((a, b) => a.turn - b.turn);
  }

  #read(): Tables {
    if (!this.#isOpen) throw new EngineError("ENGINE_STATE", "the memory store is not open");
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
