import { EngineError } from "../../src/base/error.ts";
import type { Batch, Changes, Store } from "../../src/stores/store.ts";
import type { SimRandom } from "./sim-random.ts";
import { turnsOf } from "../../src/stores/batch-turns.rig.ts";
import type { EventLog } from "./event-log.ts";
import type { Scheduler, SimEvent } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";

/** The conditions of calls to the store from one machine. */
export interface StoreConditions {
  /** The mean delay of each direction. */
  readonly delayMs: number;
  /** The share of calls that take a hundred times as long. */
  readonly slowness: number;
  /** The share of calls that fail and are not carried out. */
  readonly failing: number;
  /** The share of calls that fail although they are carried out. */
  readonly lying: number;
  /** The share of calls that fail and are carried out later; only if the store is a server. */
  readonly lagging: number;
}

export const calmStore: StoreConditions = { delayMs: 1, slowness: 0, failing: 0, lying: 0, lagging: 0 };

/** The timeout of a call without an answer. */
const timeoutMs = 3000;

/** A machine's connection to the store. It outlives the processes that use it. */
export class StoreLink {
  conditions: StoreConditions = calmStore;
  /** No request arrives, and no answer comes back. */
  isCut = false;
}

/** The process that a connection belongs to. */
export interface StoreUser {
  readonly number: number;
  readonly machine: string;
  readonly isDead: boolean;
  readonly isFrozen: boolean;
  /** Called with each call; some processes crash right here. */
  onStoreCall(name: string): void;
  /** Whether this commit is lost: its caller waits for an answer until it crashes. */
  losesCommit(): boolean;
}

/** A call and its possible outcomes. */
type Fate = "well" | "fails" | "lies" | "lags";

interface InFlight {
  readonly request: SimEvent;
  /** Carries out the call. */
  readonly land: () => void;
}

/**
 * The connection of one process to the shared store. Calls take time in both directions, may fail whether or not they
 * were carried out, and are never answered after the process has ended.
 */
export class SimStore implements Store {
  readonly clusters = "possible";
  /** Members may have different values. */
  readonly lanes: number;
  readonly #inner: Store;
  readonly #user: StoreUser;
  readonly #link: StoreLink;
  readonly #scheduler: Scheduler;
  readonly #random: SimRandom;
  readonly #log: EventLog;
  readonly #recorder: Recorder;
  readonly #inFlight = new Set<InFlight>();

  constructor(parts: {
    inner: Store;
    user: StoreUser;
    link: StoreLink;
    scheduler: Scheduler;
    random: SimRandom;
    log: EventLog;
    recorder: Recorder;
  }) {
    this.#inner = parts.inner;
    this.#user = parts.user;
    this.#link = parts.link;
    this.#scheduler = parts.scheduler;
    this.#random = parts.random;
    this.#log = parts.log;
    this.#recorder = parts.recorder;
    this.lanes = parts.random.fork("lanes").pick([1, 2, 4]);
  }

  /**
   * Called when the process has crashed. Each call in flight is lost or carried out at random: at once for a local
   * disk; on arrival if the store is a server.
   */
  abandon(options: { isServer: boolean }): void {
    for (const { request, land } of this.#inFlight) {
      if (this.#random.isLucky(0.5)) request.cancel();
      else if (!options.isServer) {
        request.cancel();
        land();
      }
    }
    this.#inFlight.clear();
  }

  open: Store["open"] = () => this.#call("open", async () => undefined);
  /** Keeps the data, which other processes use. */
  close: Store["close"] = () => this.#call("close", async () => undefined);

  settleShardCount: Store["settleShardCount"] = (count) =>
    this.#call("settleShardCount", () => this.#inner.settleShardCount(count));

  join: Store["join"] = (member) =>
    this.#call(
      `join ${member.id}`,
      () => this.#inner.join(member),
      () => this.#recorder.recordMembership(this.#user, "joined", member.id),
    );
  heartbeat: Store["heartbeat"] = async (member, about, since) => {
    const sentAt = this.#scheduler.now;
    const view = await this.#call("heartbeat", () => this.#inner.heartbeat(member, about, since));
    if (view.members.some(({ id }) => id === member)) this.#recorder.recordLeaseRenewal(this.#user, { member, sentAt });
    return view;
  };
  renewLease: Store["renewLease"] = async (member, atLeast) => {
    const sentAt = this.#scheduler.now;
    const isRenewed = await this.#call("renewLease", () => this.#inner.renewLease(member, atLeast));
    if (isRenewed) this.#recorder.recordLeaseRenewal(this.#user, { member, sentAt, isByThread: true });
    return isRenewed;
  };
  removeMember: Store["removeMember"] = (member, ifHeartbeat) =>
    this.#call(
      `removeMember ${member}`,
      () => this.#inner.removeMember(member, ifHeartbeat),
      (isGone) => {
        if (isGone) this.#recorder.recordMembership(this.#user, ifHeartbeat === undefined ? "left" : "removed", member);
      },
    );
  claimShard: Store["claimShard"] = (shard, owner) =>
    this.#call(
      `claimShard ${shard}`,
      () => this.#inner.claimShard(shard, owner),
      (claim) => {
        if (claim !== undefined) this.#recorder.recordClaim(this.#user, shard, owner, claim);
      },
    );

  countRows: Store["countRows"] = () => this.#call("countRows", () => this.#inner.countRows());
  beginIncarnation: Store["beginIncarnation"] = () =>
    this.#call("beginIncarnation", () => this.#inner.beginIncarnation());

  commit(batch: Batch): Promise<void> {
    // Copies the lists, because the caller may change its arrays before the request arrives.
    const sent = copyOf(batch);
    const sentAt = this.#recorder.moment();
    if (turnsOf(sent.changes).length > 0 && this.#user.losesCommit()) {
      this.#log.note(`${this.#user.machine} loses its commit ${shownFences(sent)}`);
      return new Promise(() => undefined);
    }
    return this.#call(
      `commit ${shownFences(sent)}`,
      () => this.#inner.commit(sent),
      () => this.#recorder.recordCommit(this.#user, sent, sentAt),
    );
  }

  listUnfinished: Store["listUnfinished"] = (shard, page) =>
    this.#call("listUnfinished", () => this.#inner.listUnfinished(shard, page));
  loadHistory: Store["loadHistory"] = (keys) => this.#call("loadHistory", () => this.#inner.loadHistory(keys));
  listHistory: Store["listHistory"] = (key, page) =>
    this.#call("listHistory", () => this.#inner.listHistory(key, page));
  loadPayloads: Store["loadPayloads"] = (key, refs) =>
    this.#call("loadPayloads", () => this.#inner.loadPayloads(key, refs));
  findFinished: Store["findFinished"] = (id) => this.#call("findFinished", () => this.#inner.findFinished(id));
  listInstances: Store["listInstances"] = (filter) =>
    this.#call("listInstances", () => this.#inner.listInstances(filter));
  listFinishedBefore: Store["listFinishedBefore"] = (filter) =>
    this.#call("listFinishedBefore", () => this.#inner.listFinishedBefore(filter));
  loadOutbox: Store["loadOutbox"] = (targets) => this.#call("loadOutbox", () => this.#inner.loadOutbox(targets));
  loadOutboxOf: Store["loadOutboxOf"] = (source) => this.#call("loadOutboxOf", () => this.#inner.loadOutboxOf(source));
  loadOffsets: Store["loadOffsets"] = (shard) => this.#call("loadMarks", () => this.#inner.loadOffsets(shard));
  loadSent: Store["loadSent"] = (source) => this.#call("loadSent", () => this.#inner.loadSent(source));
  findRequest: Store["findRequest"] = (shard, key) =>
    this.#call("findRequest", () => this.#inner.findRequest(shard, key));
  post: Store["post"] = (mail) => {
    this.#recorder.recordMessage(this.#user, mail.body);
    return this.#call(`post ${mail.mailbox}`, () => this.#inner.post(mail));
  };
  listMailboxRows: Store["listMailboxRows"] = (mailboxes, limit) =>
    this.#call("listMailboxRows", () => this.#inner.listMailboxRows(mailboxes, limit));
  deleteMailboxRows: Store["deleteMailboxRows"] = (ids) =>
    this.#call("deleteMailboxRows", () => this.#inner.deleteMailboxRows(ids));
  deleteMailboxRowsBefore: Store["deleteMailboxRowsBefore"] = (at) =>
    this.#call("deleteMailboxRowsBefore", () => this.#inner.deleteMailboxRowsBefore(at));
  loadDomains: Store["loadDomains"] = () => this.#call("loadDomains", () => this.#inner.loadDomains());
  declareDomains: Store["declareDomains"] = (domains) =>
    this.#call("declareDomains", () => this.#inner.declareDomains(domains));
  saveDefinitions: Store["saveDefinitions"] = (rows) =>
    this.#call("saveDefinitions", () => this.#inner.saveDefinitions(rows));
  findDefinition: Store["findDefinition"] = (name, version) =>
    this.#call("findDefinition", () => this.#inner.findDefinition(name, version));
  findLatestDefinition: Store["findLatestDefinition"] = (name) =>
    this.#call("findLatestDefinition", () => this.#inner.findLatestDefinition(name));
  listDefinitions: Store["listDefinitions"] = (name, page) =>
    this.#call("listDefinitions", () => this.#inner.listDefinitions(name, page));
  loadJobs: Store["loadJobs"] = () => this.#call("loadJobs", () => this.#inner.loadJobs());
  saveJobs: Store["saveJobs"] = (jobs) => this.#call("saveJobs", () => this.#inner.saveJobs(jobs));
  deleteJobs: Store["deleteJobs"] = (ids) => this.#call("deleteJobs", () => this.#inner.deleteJobs(ids));
  findDocument: Store["findDocument"] = (kind, name) =>
    this.#call("findDocument", () => this.#inner.findDocument(kind, name));
  listDocuments: Store["listDocuments"] = (kind, page) =>
    this.#call("listDocuments", () => this.#inner.listDocuments(kind, page));
  saveDocument: Store["saveDocument"] = (document) =>
    this.#call(`saveDocument ${document.kind}`, () => this.#inner.saveDocument(document));
  deleteDocument: Store["deleteDocument"] = (kind, name, revision) =>
    this.#call(`deleteDocument ${kind}`, () => this.#inner.deleteDocument(kind, name, revision));
  appendLines: Store["appendLines"] = (lines) => {
    const sent = [...lines];
    return this.#call("appendLines", () => this.#inner.appendLines(sent));
  };
  listLines: Store["listLines"] = (topic, page) => this.#call("listLines", () => this.#inner.listLines(topic, page));
  deleteLines: Store["deleteLines"] = (prefix, before) =>
    this.#call("deleteLines", () => this.#inner.deleteLines(prefix, before));
  deleteTopic: Store["deleteTopic"] = (topic) => this.#call("deleteTopic", () => this.#inner.deleteTopic(topic));

  /** `seen` is called with the result when the store has carried out the call. */
  #call<T>(name: string, act: () => Promise<T>, seen?: (value: T) => void): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#user.isDead) return promise;
    this.#log.note(`${this.#user.machine} calls ${name}`);
    this.#send(act, seen, { resolve, reject });
    this.#user.onStoreCall(name);
    return promise;
  }

  #send<T>(
    act: () => Promise<T>,
    seen: ((value: T) => void) | undefined,
    caller: { resolve: (value: T) => void; reject: (error: unknown) => void },
  ): void {
    const fate = this.#fate();
    const fail = (what: string): void => caller.reject(new EngineError("STORE_UNAVAILABLE", what));
    if (this.#link.isCut) return this.#answer(timeoutMs, () => fail("the store does not answer"));
    const land = (): void => {
      this.#inFlight.delete(inFlight);
      // The connection was cut after the call was sent.
      if (this.#link.isCut && fate !== "lags") return this.#answer(timeoutMs, () => fail("the store does not answer"));
      if (fate === "fails") return this.#answer(this.#delayMs(), () => fail("the store is not available"));
      void this.#carryOut(act, seen, (settle) => {
        if (fate === "well") this.#answer(this.#delayMs(), () => this.#hear(() => settle(caller), fail));
        else if (fate === "lies") this.#answer(this.#delayMs(), () => fail("the answer of the store was lost"));
      });
    };
    if (fate === "lags") this.#answer(this.#delayMs(), () => fail("the store took too long"));
    const waitMs = fate === "lags" ? this.#delayMs() + this.#random.waitMs(timeoutMs) : this.#delayMs();
    const inFlight: InFlight = { request: this.#scheduler.after(waitMs, undefined, land), land };
    this.#inFlight.add(inFlight);
  }

  async #carryOut<T>(
    act: () => Promise<T>,
    seen: ((value: T) => void) | undefined,
    then: (settle: (caller: { resolve: (value: T) => void; reject: (error: unknown) => void }) => void) => void,
  ): Promise<void> {
    try {
      const value = await act();
      seen?.(value);
      then(({ resolve }) => resolve(value));
    } catch (error) {
      then(({ reject }) => reject(error));
    }
  }

  #answer(delayMs: number, tell: () => void): void {
    this.#scheduler.after(delayMs, this.#user, tell);
  }

  /** Answers in flight when the connection is cut are lost: the caller times out. */
  #hear(settle: () => void, fail: (what: string) => void): void {
    if (this.#link.isCut) this.#answer(timeoutMs, () => fail("the store does not answer"));
    else settle();
  }

  #fate(): Fate {
    const { failing, lying, lagging } = this.#link.conditions;
    const random = this.#random.next();
    if (random < failing) return "fails";
    if (random < failing + lying) return "lies";
    return random < failing + lying + lagging ? "lags" : "well";
  }

  #delayMs(): number {
    const { delayMs, slowness } = this.#link.conditions;
    return this.#random.waitMs(this.#random.isLucky(slowness) ? 100 * delayMs : delayMs);
  }
}

/** Copies the lists only, because rows are never changed in place. */
function copyOf({ fences, changes }: Batch): Batch {
  const copy: Changes = { ...changes };
  for (const table of Object.keys(copy) as (keyof Changes)[]) Object.assign(copy, { [table]: [...copy[table]] });
  return { fences: [...fences], changes: copy };
}

function shownFences({ fences, changes }: Batch): string {
  const shown = fences.map(({ shard, epoch, number, released }) => `${shard}/${epoch}/${number}${released ? "!" : ""}`);
  return `${shown.join(" ")}: ${turnsOf(changes).length} turns`;
}
