import { EngineError } from "../../src/base/error.ts";
import type { Batch, Changes, Store } from "../../src/stores/store.ts";
import type { SimRandom } from "./sim-random.ts";
import type { EventLog } from "./event-log.ts";
import type { Scheduler, SimEvent } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";

/** How calls to the store fare from one machine. */
export interface StoreConditions {
  /** Of the way there and of the way back, each. */
  readonly delayMs: number;
  /** Of calls that take a hundred times as long. */
  readonly slowness: number;
  /** Calls that fail and were not carried out. */
  readonly failing: number;
  /** Calls that fail although they were carried out. */
  readonly lying: number;
  /** Calls that fail, and are carried out some time after that: only where the store is a server. */
  readonly lagging: number;
}

export const calmStore: StoreConditions = { delayMs: 1, slowness: 0, failing: 0, lying: 0, lagging: 0 };

/** A caller that hears nothing gives up after so long. */
const timeoutMs = 3000;

/** A machine's connection to the one store. It outlives the processes that use it. */
export class StoreLink {
  conditions: StoreConditions = calmStore;
  /** Nothing arrives there, and no answer comes back. */
  isCut = false;
}

/** The life that a connection belongs to, as far as its store has to do with it. */
export interface StoreUser {
  readonly number: number;
  readonly machine: string;
  readonly isDead: boolean;
  readonly isFrozen: boolean;
  /** Called as a call is made: some lives end right here, in the middle of what they do. */
  onStoreCall(name: string): void;
  /** This commit is lost on its way, and its caller waits for an answer until it dies. */
  losesCommit(): boolean;
}

/** What becomes of a call. */
type Fate = "well" | "fails" | "lies" | "lags";

interface InFlight {
  readonly request: SimEvent;
  /** Carries it out. */
  readonly land: () => void;
}

/**
 * One life's connection to the store that all share. Calls take time on the way there and back, may fail with or without
 * having been carried out, and are never answered to the dead.
 */
export class SimStore implements Store {
  readonly clusters = "possible";
  /** Members need not agree about it. */
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
   * The process is gone. Each call on its way is lost or carried out at random: now, for what a dead process wrote to its
   * own disk is written; or, where the store is a server, when it arrives.
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
  /** The data stay where they are, for the others. */
  close: Store["close"] = () => this.#call("close", async () => undefined);

  settleShardCount: Store["settleShardCount"] = (count) =>
    this.#call("settleShardCount", () => this.#inner.settleShardCount(count));

  join: Store["join"] = (member) =>
    this.#call(
      `join ${member.id}`,
      () => this.#inner.join(member),
      () => this.#recorder.recordMembership(this.#user, "joined", member.id),
    );
  beat: Store["beat"] = async (member, about) => {
    const sentAt = this.#scheduler.now;
    const view = await this.#call("beat", () => this.#inner.beat(member, about));
    if (view.members.some(({ id }) => id === member)) this.#recorder.recordLeaseRenewal(this.#user, member, sentAt);
    return view;
  };
  removeMember: Store["removeMember"] = (member, ifBeat) =>
    this.#call(
      `removeMember ${member}`,
      () => this.#inner.removeMember(member, ifBeat),
      (isGone) => {
        if (isGone) this.#recorder.recordMembership(this.#user, ifBeat === undefined ? "left" : "removed", member);
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

  commit(batch: Batch): Promise<void> {
    // The caller may go on with its arrays before the request arrives.
    const sent = copyOf(batch);
    if (sent.changes.history.length > 0 && this.#user.losesCommit()) {
      this.#log.note(`${this.#user.machine} loses its commit ${shownFences(sent)}`);
      return new Promise(() => undefined);
    }
    return this.#call(
      `commit ${shownFences(sent)}`,
      () => this.#inner.commit(sent),
      () => this.#recorder.recordCommit(this.#user, sent),
    );
  }

  loadInstances: Store["loadInstances"] = (shard, page) =>
    this.#call("loadInstances", () => this.#inner.loadInstances(shard, page));
  loadHistory: Store["loadHistory"] = (keys) => this.#call("loadHistory", () => this.#inner.loadHistory(keys));
  readHistory: Store["readHistory"] = (key, page) =>
    this.#call("readHistory", () => this.#inner.readHistory(key, page));
  readTasks: Store["readTasks"] = (key) => this.#call("readTasks", () => this.#inner.readTasks(key));
  readPayloads: Store["readPayloads"] = (key, refs) =>
    this.#call("readPayloads", () => this.#inner.readPayloads(key, refs));
  findFinished: Store["findFinished"] = (id) => this.#call("findFinished", () => this.#inner.findFinished(id));
  listInstances: Store["listInstances"] = (filter) =>
    this.#call("listInstances", () => this.#inner.listInstances(filter));
  finishedBefore: Store["finishedBefore"] = (filter) =>
    this.#call("finishedBefore", () => this.#inner.finishedBefore(filter));
  loadOutbox: Store["loadOutbox"] = (targets) => this.#call("loadOutbox", () => this.#inner.loadOutbox(targets));
  loadOffsets: Store["loadOffsets"] = (shard) => this.#call("loadMarks", () => this.#inner.loadOffsets(shard));
  loadSent: Store["loadSent"] = (source) => this.#call("loadSent", () => this.#inner.loadSent(source));
  findRequest: Store["findRequest"] = (shard, key) =>
    this.#call("findRequest", () => this.#inner.findRequest(shard, key));
  post: Store["post"] = (mail) => {
    this.#recorder.recordMessage(this.#user, mail.body);
    return this.#call(`post ${mail.box}`, () => this.#inner.post(mail));
  };
  readMailbox: Store["readMailbox"] = (boxes, limit) =>
    this.#call("readMailbox", () => this.#inner.readMailbox(boxes, limit));
  deleteFromMailbox: Store["deleteFromMailbox"] = (ids) =>
    this.#call("deleteFromMailbox", () => this.#inner.deleteFromMailbox(ids));
  deleteMailboxRowsBefore: Store["deleteMailboxRowsBefore"] = (at) =>
    this.#call("deleteMailboxRowsBefore", () => this.#inner.deleteMailboxRowsBefore(at));
  loadDomains: Store["loadDomains"] = () => this.#call("loadDomains", () => this.#inner.loadDomains());
  declareDomains: Store["declareDomains"] = (domains) =>
    this.#call("declareDomains", () => this.#inner.declareDomains(domains));
  saveDefinitions: Store["saveDefinitions"] = (rows) =>
    this.#call("saveDefinitions", () => this.#inner.saveDefinitions(rows));
  loadDefinition: Store["loadDefinition"] = (name, version) =>
    this.#call("loadDefinition", () => this.#inner.loadDefinition(name, version));
  latestDefinition: Store["latestDefinition"] = (name) =>
    this.#call("latestDefinition", () => this.#inner.latestDefinition(name));
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
  readLines: Store["readLines"] = (topic, page) => this.#call("readLines", () => this.#inner.readLines(topic, page));
  deleteLines: Store["deleteLines"] = (prefix, before) =>
    this.#call("deleteLines", () => this.#inner.deleteLines(prefix, before));
  deleteTopic: Store["deleteTopic"] = (topic) => this.#call("deleteTopic", () => this.#inner.deleteTopic(topic));

  /** `seen` is told what the store did, at the moment it has. */
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
      // Cut off since it was sent.
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

  /** What is on its way back when the connection is cut is not heard: the caller gives up. */
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

/** Rows are never changed in place, so the lists are all that is copied. */
function copyOf({ fences, changes }: Batch): Batch {
  const copy: Changes = { ...changes };
  for (const table of Object.keys(copy) as (keyof Changes)[]) Object.assign(copy, { [table]: [...copy[table]] });
  return { fences: [...fences], changes: copy };
}

function shownFences({ fences, changes }: Batch): string {
  const shown = fences.map(({ shard, epoch, number, clean }) => `${shard}/${epoch}/${number}${clean ? "!" : ""}`);
  return `${shown.join(" ")}: ${changes.history.length} turns`;
}
