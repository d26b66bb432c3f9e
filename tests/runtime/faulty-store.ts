import { EngineError } from "../../src/base/error.ts";
import { type Batch, Fenced, type HistoryRow, type Store } from "../../src/stores/store.ts";
import { Ledger } from "./ledger.ts";

/**
 * How a commit goes wrong: it is not written and fails; it is written and fails all the same; the store refuses the data;
 * somebody else owns its shards.
 */
export type Fault = "before" | "after" | "data" | "fenced";

/** What outlives a process: the store proper, and what it has answered for. Opened once, closed by the test. */
export class Disk {
  readonly inner: Store;
  readonly ledger = new Ledger();
  #isOpen = false;

  constructor(inner: Store) {
    this.inner = inner;
  }

  async open(): Promise<void> {
    if (this.#isOpen) return await this.ledger.readFrom(this.inner);
    this.#isOpen = true;
    await this.inner.open();
  }
}

/** One process's connection to a disk. It can be slow, fail, lie about failing, and die with its process. */
export class FaultyStore implements Store {
  readonly disk: Disk;
  /** Every commit as it was sent, those that were sent again among them. */
  readonly sent: Batch[] = [];
  /** For the next commits, one each. */
  readonly faults: Fault[] = [];
  /** For commits that `faults` says nothing about. */
  faultOf: ((batch: Batch) => Fault | undefined) | undefined;
  /** Reads fail as unavailable, and so does what is written outside of commits. */
  readsFail = false;
  /** Called when a commit is sent, before anything happens to it. */
  onSend: ((batch: Batch) => void | Promise<void>) | undefined;
  /** Changes what is read of histories. */
  tamper: ((row: HistoryRow) => HistoryRow) | undefined;
  /** Every read waits for these, before it looks and before it tells what it saw. */
  beforeRead: ((what: string) => Promise<void>) | undefined;
  afterRead: ((what: string) => Promise<void>) | undefined;
  readonly #never = new Promise<never>(() => undefined);
  #isDead = false;
  #before: Gate | undefined;
  #after: Gate | undefined;

  constructor(disk: Disk) {
    this.disk = disk;
  }

  get lanes(): number {
    return this.disk.inner.lanes;
  }

  get clusters(): Store["clusters"] {
    return this.disk.inner.clusters;
  }

  get ledger(): Ledger {
    return this.disk.ledger;
  }

  /** Commits wait, before they are written or before they are answered, until the gate is opened. */
  hold(stage: "before" | "after" = "before"): Gate {
    const gate = new Gate();
    if (stage === "before") this.#before = gate;
    else this.#after = gate;
    return gate;
  }

  /** The store takes nothing that has to do with this instance. */
  poison(id: string): void {
    this.faultOf = (batch) => (this.ledger.idsIn(batch).includes(id) ? "data" : undefined);
  }

  /** The process is gone: nothing is answered any more, and what was on its way is not written. */
  die(): void {
    this.#isDead = true;
  }

  async open(): Promise<void> {
    await this.disk.open();
  }

  /** The data stay where they are, for the next process. */
  async close(): Promise<void> {
    await this.#alive();
  }

  async commit(batch: Batch): Promise<void> {
    await this.#alive();
    this.sent.push(structuredClone(batch));
    this.ledger.meet(batch);
    await this.onSend?.(batch);
    await this.#before?.pass();
    await this.#alive();
    const fault = this.faults.shift() ?? this.faultOf?.(batch);
    if (fault === "before") throw new EngineError("STORE_UNAVAILABLE", "the disk was pulled out");
    if (fault === "data") throw new EngineError("STORE_DATA", "the store does not like these bytes");
    if (fault === "fenced") throw new Fenced(shardsOf(batch), "somebody else owns the shard");
    await this.disk.inner.commit(batch);
    await this.#after?.pass();
    await this.#alive();
    if (fault === "after") throw new EngineError("STORE_UNAVAILABLE", "the answer was lost");
    this.ledger.acknowledge(batch);
  }

  settleShardCount: Store["settleShardCount"] = (count) =>
    this.#read("settleShardCount", (store) => store.settleShardCount(count));
  join: Store["join"] = (member) => this.#read("join", (store) => store.join(member));
  renewLease: Store["renewLease"] = (member, atLeast) =>
    this.#read("renewLease", (store) => store.renewLease(member, atLeast));
  heartbeat: Store["heartbeat"] = (member, about, since) =>
    this.#read("heartbeat", (store) => store.heartbeat(member, about, since));
  removeMember: Store["removeMember"] = (member, ifHeartbeat) =>
    this.#read("removeMember", (store) => store.removeMember(member, ifHeartbeat));
  claimShard: Store["claimShard"] = (shard, owner) =>
    this.#read("claimShard", (store) => store.claimShard(shard, owner));
  listUnfinished: Store["listUnfinished"] = (shard, page) =>
    this.#read("listUnfinished", (store) => store.listUnfinished(shard, page));
  loadHistory: Store["loadHistory"] = async (keys) => {
    const rows = await this.#read("loadHistory", (store) => store.loadHistory(keys));
    return rows.map((row) => this.tamper?.(row) ?? row);
  };
  listHistory: Store["listHistory"] = (key, page) => this.#read("listHistory", (store) => store.listHistory(key, page));
  loadPayloads: Store["loadPayloads"] = (key, refs) =>
    this.#read("loadPayloads", (store) => store.loadPayloads(key, refs));
  findFinished: Store["findFinished"] = (id) => this.#read("findFinished", (store) => store.findFinished(id));
  listInstances: Store["listInstances"] = (filter) =>
    this.#read("listInstances", (store) => store.listInstances(filter));
  listFinishedBefore: Store["listFinishedBefore"] = (filter) =>
    this.#read("listFinishedBefore", (store) => store.listFinishedBefore(filter));
  loadOutbox: Store["loadOutbox"] = (targets) => this.#read("loadOutbox", (store) => store.loadOutbox(targets));
  loadOutboxOf: Store["loadOutboxOf"] = (source) => this.#read("loadOutboxOf", (store) => store.loadOutboxOf(source));
  loadOffsets: Store["loadOffsets"] = (shard) => this.#read("loadMarks", (store) => store.loadOffsets(shard));
  countRows: Store["countRows"] = () => this.#read("countRows", (store) => store.countRows());
  beginIncarnation: Store["beginIncarnation"] = () =>
    this.#read("beginIncarnation", (store) => store.beginIncarnation());
  loadSent: Store["loadSent"] = (source) => this.#read("loadSent", (store) => store.loadSent(source));
  findRequest: Store["findRequest"] = (shard, key) =>
    this.#read("findRequest", (store) => store.findRequest(shard, key));
  post: Store["post"] = (mail) => this.#read("post", (store) => store.post(mail));
  listMailboxRows: Store["listMailboxRows"] = (mailboxes, limit) =>
    this.#read("listMailboxRows", (store) => store.listMailboxRows(mailboxes, limit));
  deleteMailboxRows: Store["deleteMailboxRows"] = (ids) =>
    this.#read("deleteMailboxRows", (store) => store.deleteMailboxRows(ids));
  deleteMailboxRowsBefore: Store["deleteMailboxRowsBefore"] = (at) =>
    this.#read("deleteMailboxRowsBefore", (store) => store.deleteMailboxRowsBefore(at));
  loadDomains: Store["loadDomains"] = () => this.#read("loadDomains", (store) => store.loadDomains());
  declareDomains: Store["declareDomains"] = (domains) =>
    this.#read("declareDomains", (store) => store.declareDomains(domains));
  saveDefinitions: Store["saveDefinitions"] = (definitions) =>
    this.#read("saveDefinitions", (store) => store.saveDefinitions(definitions));
  findDefinition: Store["findDefinition"] = (name, version) =>
    this.#read("findDefinition", (store) => store.findDefinition(name, version));
  findLatestDefinition: Store["findLatestDefinition"] = (name) =>
    this.#read("findLatestDefinition", (store) => store.findLatestDefinition(name));
  listDefinitions: Store["listDefinitions"] = (name, page) =>
    this.#read("listDefinitions", (store) => store.listDefinitions(name, page));
  loadJobs: Store["loadJobs"] = () => this.#read("loadJobs", (store) => store.loadJobs());
  saveJobs: Store["saveJobs"] = (jobs) => this.#read("saveJobs", (store) => store.saveJobs(jobs));
  deleteJobs: Store["deleteJobs"] = (ids) => this.#read("deleteJobs", (store) => store.deleteJobs(ids));
  findDocument: Store["findDocument"] = (kind, name) =>
    this.#read("findDocument", (store) => store.findDocument(kind, name));
  listDocuments: Store["listDocuments"] = (kind, page) =>
    this.#read("listDocuments", (store) => store.listDocuments(kind, page));
  saveDocument: Store["saveDocument"] = (document) =>
    this.#read("saveDocument", (store) => store.saveDocument(document));
  deleteDocument: Store["deleteDocument"] = (kind, name, revision) =>
    this.#read("deleteDocument", (store) => store.deleteDocument(kind, name, revision));
  appendLines: Store["appendLines"] = (lines) => this.#read("appendLines", (store) => store.appendLines(lines));
  listLines: Store["listLines"] = (topic, page) => this.#read("listLines", (store) => store.listLines(topic, page));
  deleteLines: Store["deleteLines"] = (prefix, before) =>
    this.#read("deleteLines", (store) => store.deleteLines(prefix, before));
  deleteTopic: Store["deleteTopic"] = (topic) => this.#read("deleteTopic", (store) => store.deleteTopic(topic));

  async #read<T>(what: string, read: (store: Store) => Promise<T>): Promise<T> {
    await this.#alive();
    await this.beforeRead?.(what);
    if (this.readsFail) throw new EngineError("STORE_UNAVAILABLE", "the disk was pulled out");
    const result = await read(this.disk.inner);
    await this.afterRead?.(what);
    await this.#alive();
    return result;
  }

  async #alive(): Promise<void> {
    if (this.#isDead) await this.#never;
  }
}

function shardsOf({ fences }: Batch): number[] {
  return fences.map(({ shard }) => shard);
}

/** Lets nobody pass until it is opened; then everybody. */
export class Gate {
  readonly #opened = Promise.withResolvers<void>();
  #arrived = Promise.withResolvers<void>();
  waiting = 0;

  async pass(): Promise<void> {
    this.waiting++;
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
    await this.#opened.promise;
    this.waiting--;
  }

  /** Somebody waits here. */
  async reached(): Promise<void> {
    if (this.waiting === 0) await this.#arrived.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}
