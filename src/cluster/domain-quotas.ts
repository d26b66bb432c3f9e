import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";
import type { ClusterTimings } from "./timings.ts";

/** Time after which a quota that is not needed is returned to the allocator. */
const idleMs = 10_000;

/** The slots of the domains on this member: an attempt starts only while fewer run than the quota allows. */
export interface SlotPool {
  /**
   * `running`: all that have a slot of the domain, also those that are about to start or to end. It grows only below the
   * quota, or by attempts that come with their worker (Q4). `waiting`: those that lack nothing but a slot.
   */
  demand(domain: string): { readonly running: number; readonly waiting: number };
  setQuota(domain: string, quota: number): void;
}

export interface DomainQuotasOptions {
  /** This member's id. A new one is shown only when a view has arrived that was asked for after it had joined. */
  readonly member: () => string;
  readonly clock: Clock;
  readonly domains: Iterable<string>;
  /**
   * Brings the report to the domain's allocator. May be repeated on the way, and may reach several; rejects when it was
   * not answered for a while, which should be a few times `rebalanceMs`.
   */
  readonly call: (domain: string, report: SlotReport) => Promise<SlotGrant>;
  /** The epoch of the domain's shard in this member's newest view; 0 if it was never claimed. */
  readonly seenEpoch: (domain: string) => number;
  readonly pool: SlotPool;
  readonly timings: Pick<ClusterTimings, "rebalanceMs" | "workerLostMs">;
  /**
   * Attempts may run on workers that outlive this member. True from an answered report on before the first one does;
   * simplest: whether this member takes in remote workers at all.
   */
  readonly hasRemoteWorkers: () => boolean;
  readonly logger: Logger;
}

/**
 * This member's slots of the domains that all members share. For each domain it reports to the domain's allocator what
 * it has and needs, and does what the answer says. It sends no reports while it has and needs nothing, until the shard
 * has a new owner, whose allocator waits for reports of all members.
 *
 * What the allocator's promise (domain-allocator.ts, I1 to I6) needs from here:
 *
 * - Q1. Only the answer to the newest report is taken, once, and only by the member that made it: not after it was given
 *   up, nor after this member has lost its place among the living.
 * - Q2. A report tells the quota in force and what runs in the moment in which it gets its sequence, which is larger
 *   than any before. Between two reports the quota changes only by an answer, or to less; and attempts start only below it.
 * - Q3. A grant of an earlier epoch than the newest that was ever named in a report is not taken. A member's first report
 *   names at least the epoch that the shard had when it joined.
 * - Q4. Attempts on remote workers may change their member, and take their slot along. Where they leave (`onDetached`) they use
 *   it for `workerLostMs` more, then the quota is less by it; where they arrive they are vouched for only when they were
 *   `whenCounted`. If nobody vouches for them they have ended by then.
 */
export class DomainQuotas {
  readonly #options: DomainQuotasOptions;
  readonly #shares = new Map<string, DomainShare>();
  #sequence = 0;
  #isStarted = false;
  #timer: Timer | undefined;
  /** The id under which the quotas are held. */
  #id: string | undefined;
  /** The id that was lost; nothing is reported under it any more. */
  #goneId: string | undefined;

  constructor(options: DomainQuotasOptions) {
    this.#options = options;
    for (const domain of options.domains) this.declare(domain);
  }

  start(): void {
    this.#isStarted = true;
    this.#tick();
  }

  /** Stops starting attempts; running ones are counted until this member has left the cluster. */
  stop(): void {
    this.#isStarted = false;
    this.#timer?.cancel();
    this.#forget(notStarted());
  }

  /** Declares a shared domain. Every member must know it, because its allocator waits for reports of all members. */
  declare(domain: string): void {
    if (this.#shares.has(domain)) return;
    const share = new DomainShare(domain, this.#options.clock.monotonic());
    this.#shares.set(domain, share);
    this.#set(share, 0);
    this.#lookSoon(share);
  }

  /** A task waits for a slot: reports at once, unless the allocator knows it already. */
  onDemand(domain: string): void {
    const share = this.#shares.get(domain);
    if (share === undefined || share.isWanted || share.isPatient) return;
    share.isWanted = true;
    if (share.underWay === undefined) this.#lookSoon(share);
  }

  /** The member is gone, and has no new id yet: it has nothing, and reports again when it has one. */
  dropAll(): void {
    this.#goneId = this.#id;
    this.#forget(new EngineError("MEMBER_LOST", "this member lost its place among the living"));
  }

  /**
   * Attempts are detached here while they may still run on remote workers, whose leases were last renewed `silentMs` ago.
   * Must be called before the pool has their slots back.
   */
  onDetached(domain: string, slots: number, silentMs = 0): void {
    const share = this.#shares.get(domain);
    if (share === undefined || slots === 0) return;
    const { clock, timings } = this.#options;
    const now = clock.monotonic();
    share.strays.push({ slots, until: now + timings.workerLostMs - silentMs });
    this.#loseStrays(share, now);
  }

  /**
   * Resolves when the allocator has counted the attempts that run here now. The lease of an attempt that came with its
   * worker is renewed only after that. `MEMBER_LOST`, `ENGINE_STATE`: it will not be counted.
   */
  whenCounted(domain: string): Promise<void> {
    const share = this.#shares.get(domain);
    if (share === undefined) return Promise.resolve();
    if (!this.#isStarted) return Promise.reject(notStarted());
    return new Promise((resolve, reject) => {
      share.uncounted.push({ after: this.#sequence, resolve, reject });
      this.#lookSoon(share);
    });
  }

  #tick(): void {
    const { clock, timings } = this.#options;
    this.#timer = clock.after(timings.rebalanceMs, () => this.#tick());
    this.#life();
    for (const share of this.#shares.values()) this.#look(share);
  }

  /** Changes that arrive together share one report. */
  #lookSoon(share: DomainShare): void {
    this.#options.clock.soon(() => this.#look(share));
  }

  /** Sends a report, if there is anything to report and none is under way. */
  #look(share: DomainShare): void {
    if (!this.#isStarted || share.underWay !== undefined) return;
    const member = this.#life();
    if (member === undefined) return;
    const { clock, pool } = this.#options;
    const now = clock.monotonic();
    this.#loseStrays(share, now);
    const { running, waiting } = pool.demand(share.domain);
    share.isWanted = false;
    if (running + waiting + share.straySlots > 0) share.neededAt = now;
    else if (share.quota > 0 && now - share.neededAt >= idleMs) this.#set(share, 0);
    if (!this.#hasNews(share, running + waiting)) return;
    share.epoch = this.#newestEpoch(share);
    share.answered = undefined;
    const report: SlotReport = {
      domain: share.domain,
      member,
      sequence: ++this.#sequence,
      epoch: share.epoch,
      quota: share.quota,
      running: running + share.straySlots,
      waiting,
      hasRemoteWorkers: this.#options.hasRemoteWorkers(),
    };
    share.underWay = report;
    void this.#send(share, report);
  }

  /** False once the allocator of the newest epoch has answered a report that nothing is held or needed. */
  #hasNews(share: DomainShare, demand: number): boolean {
    const { answered, quota, straySlots, uncounted } = share;
    if (demand + quota + straySlots + uncounted.length > 0) return true;
    return answered === undefined || answered.epoch !== this.#newestEpoch(share) || !answered.wasIdle;
  }

  async #send(share: DomainShare, report: SlotReport): Promise<void> {
    const grant = await this.#ask(share, report);
    if (share.underWay !== report) return;
    share.underWay = undefined;
    if (grant === undefined) share.isPatient = true;
    else if (this.#life() === report.member) this.#take(share, report, grant);
  }

  async #ask(share: DomainShare, report: SlotReport): Promise<SlotGrant | undefined> {
    const { call, logger } = this.#options;
    const { domain } = share;
    try {
      const grant = await call(domain, report);
      if (share.isUnheard) logger.info({ domain }, "the domain's allocator answers again");
      share.isUnheard = false;
      return grant;
    } catch (error) {
      const fields = { domain, error: messageOf(error) };
      if (!share.isUnheard) logger.warn(fields, "a report on a domain's slots was not answered and is made again");
      share.isUnheard = true;
      return undefined;
    }
  }

  #take(share: DomainShare, report: SlotReport, grant: SlotGrant): void {
    const demand = report.running + report.waiting;
    share.isPatient = grant.sequence !== report.sequence || grant.quota < demand;
    if (grant.sequence !== report.sequence) return;
    if (grant.epoch < this.#newestEpoch(share)) return this.#lookSoon(share);
    share.epoch = grant.epoch;
    this.#set(share, grant.quota);
    // An allocator that the report did not name has not counted it.
    if (grant.epoch !== report.epoch) return this.#lookSoon(share);
    share.answered = { epoch: grant.epoch, wasIdle: demand + report.quota === 0 };
    share.tellCounted(report.sequence);
    // Other members wait for slots that were taken back, until a report shows that they are free.
    const wasLowered = grant.quota < report.quota;
    const isAskedFor = (share.isWanted && !share.isPatient) || share.uncounted.length > 0;
    if (wasLowered || isAskedFor) this.#lookSoon(share);
  }

  /** Strays use slots that the pool does not see. */
  #set(share: DomainShare, quota: number): void {
    share.quota = quota;
    this.#options.pool.setQuota(share.domain, Math.max(0, quota - share.straySlots));
  }

  /**
   * Drops the slots of strays that have ended, or are counted by another member. Discards the report under way, because
   * the answer to it would bring those slots back.
   */
  #loseStrays(share: DomainShare, now: number): void {
    if (share.strays.length === 0) return;
    const before = share.straySlots;
    share.strays = share.strays.filter(({ until }) => until > now);
    const lost = before - share.straySlots;
    if (lost > 0) share.underWay = undefined;
    this.#set(share, Math.max(0, share.quota - lost));
  }

  /** Gives up all quotas, and ignores answers that are still on their way. */
  #forget(reason: EngineError): void {
    for (const share of this.#shares.values()) {
      share.clear(reason);
      this.#set(share, 0);
    }
  }

  #newestEpoch(share: DomainShare): number {
    return Math.max(share.epoch, this.#options.seenEpoch(share.domain));
  }

  /**
   * Returns the id to report under; undefined between two ids. Slots held under an earlier id are no longer counted.
   */
  #life(): string | undefined {
    const id = this.#options.member();
    if (id === this.#goneId) return undefined;
    if (this.#id !== undefined && this.#id !== id && this.#id !== this.#goneId) this.dropAll();
    this.#id = id;
    return id;
  }
}

/** One domain's slots, as this member knows them. */
class DomainShare {
  readonly domain: string;
  quota = 0;
  /** The newest epoch that a report has named or a taken grant came from. */
  epoch = 0;
  underWay: SlotReport | undefined;
  /**
   * The answer to the newest report, if there is one: the allocator's epoch, and whether the report said that nothing
   * is held or needed.
   */
  answered: { readonly epoch: number; readonly wasIdle: boolean } | undefined;
  /** True if attempts have been waiting for a slot since the last report. */
  isWanted = false;
  /**
   * True if a report before the next interval is of no use: the allocator knows what is lacking, or does not answer.
   */
  isPatient = false;
  /** True if the last report was not answered. */
  isUnheard = false;
  neededAt: number;
  /** Attempts that left with their worker, and until when they may run without being counted elsewhere. */
  strays: { readonly slots: number; readonly until: number }[] = [];
  /** Callers that wait for a report with a larger sequence to be answered. */
  uncounted: {
    readonly after: number;
    readonly resolve: () => void;
    readonly reject: (reason: EngineError) => void;
  }[] = [];

  constructor(domain: string, now: number) {
    this.domain = domain;
    this.neededAt = now;
  }

  get straySlots(): number {
    return this.strays.reduce((sum, { slots }) => sum + slots, 0);
  }

  tellCounted(sequence: number): void {
    const done = this.uncounted.filter(({ after }) => after < sequence);
    this.uncounted = this.uncounted.filter(({ after }) => after >= sequence);
    for (const { resolve } of done) resolve();
  }

  clear(reason: EngineError): void {
    this.underWay = undefined;
    this.answered = undefined;
    this.isWanted = false;
    this.isPatient = false;
    this.strays = [];
    const refused = this.uncounted;
    this.uncounted = [];
    for (const { reject } of refused) reject(reason);
  }
}

function notStarted(): EngineError {
  return new EngineError("ENGINE_STATE", "this member does not hold slots of shared domains: it is not started");
}
