import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterView, MemberRow, Store } from "../stores/store.ts";
import type { Moment } from "../base/moment.ts";
import { type DetectorTimings, FailureDetector } from "./failure-detector.ts";
import { Incarnation } from "./incarnation.ts";
import { Lease } from "./lease.ts";
import type { LeaseThread } from "./shared-lease.ts";
import { type AboutMember, logMemberEvent, type MemberEvent } from "./member-event.ts";
import { stampOf, withoutStamp, withStamp } from "./stamped-address.ts";
import { memberLeaseMs } from "./timings.ts";

/** Part of `beatMs` after which a heartbeat is retried after an error of the store. */
const retryShare = 1 / 4;

export interface MembershipOptions {
  readonly store: Pick<Store, "join" | "heartbeat" | "removeMember">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Address under which the others reach this member. */
  readonly address: string;
  /** Returns what this member publishes about itself; called with every heartbeat. */
  readonly about: () => string;
  /** The stamp that identifies this process, and whether the process of another stamp is known to have ended: nobody waits for its lease. */
  readonly process: { readonly stamp: string | undefined; readonly hasDied: (stamp: string) => boolean };
  /** Returns an id that no member ever had. */
  readonly newId: () => string;
  readonly timings: DetectorTimings;
  /** Renews the lease while the event loop is blocked, if there is such a thread. */
  readonly leaseThread?: LeaseThread | undefined;
  /** Called with every view that contains this member, in order: each was asked for after the one before had arrived. */
  readonly onView: (view: ClusterView) => void;
  readonly onEvent: (event: MemberEvent) => void;
  /** Called when the lease has expired. Others may take over at any moment: running attempts must stop, and nothing may be answered from memory. */
  readonly onLapsed: () => void;
  /** Called when the lease is valid again and nobody has taken over. Always after `onLapsed`. */
  readonly onRegained: () => void;
  /**
   * Called when the others have removed this member and taken over its shards: everything it owned must be dropped.
   * When the promise resolves, this member joins again under a new id. Must not fail: a member that has dropped only a
   * part could not continue.
   */
  readonly onGone: () => Promise<void>;
}

/**
 * Membership of this engine in a cluster: sends heartbeats, holds the lease that they renew, and gives the views that
 * come back to the failure detector.
 *
 * What keeps two members from owning one shard is an order of times. A renewal is *sent*, then it *lands* in the store,
 * then others *see* it. This member counts its lease from the first; the others count its silence from the third, up to
 * the request of a later view that shows no change (F1 of `FailureDetector`); and they wait longer than its lease lasts,
 * by more than clocks may differ. So whenever they remove it, its lease is over (I1). The store removes it only if its
 * heartbeat has not changed since (I2), and an id that was removed never has a lease again (I3).
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #detector: FailureDetector;
  #current: Incarnation;
  #view: ClusterView = { incarnation: 0, members: [], shards: [] };
  #viewAskedAt = -Infinity;
  #living: ReadonlySet<string> = new Set();
  #isStarted = false;
  #joining: Promise<Renewal | undefined> | undefined;
  #stopping: Promise<void> | undefined;
  /** Former ids of this member that may still be in the store. */
  readonly #leftovers = new Set<string>();
  /** Members whose removal was sent to the store and not answered yet. */
  readonly #removals = new Set<string>();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#detector = new FailureDetector(options.timings);
    this.#current = this.#newIncarnation();
  }

  /** Id of the current incarnation: a new one each time this member joins. */
  get id(): string {
    return this.#current.id;
  }

  /** Lease of the current id: after `onGone`, and the join that follows, it is another one. */
  get lease(): Lease {
    return this.#current.lease;
  }

  /** The last view of the cluster; the store may have changed since. */
  get view(): ClusterView {
    return this.#view;
  }

  /** Monotonic time at which the view was requested: it shows everything that was committed by then. */
  get viewAskedAt(): number {
    return this.#viewAskedAt;
  }

  /** Ids of the members in the view, suspected ones among them. */
  get living(): ReadonlySet<string> {
    return this.#living;
  }

  /** Joins. The first view has arrived when it resolves. Throws what the store throws; the membership is stopped then. */
  async start(): Promise<void> {
    assert(
      !this.#isStarted && this.#stopping === undefined,
      "a membership is started once, and not after it was stopped",
    );
    this.#isStarted = true;
    try {
      this.#onJoined(await this.#join());
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Asks for a view now, and not with the next heartbeat. */
  refreshView(): void {
    const incarnation = this.#current;
    if (incarnation.isOver || !incarnation.isAnnounced) return;
    incarnation.isHurried = true;
    if (incarnation.isBeating) return;
    incarnation.heartbeatTimer?.cancel();
    void this.#heartbeat(incarnation);
  }

  /** Leaves the cluster. If the store cannot be reached, the failure detectors of the others find out. */
  stop(): Promise<void> {
    this.#stopping ??= this.#leave();
    return this.#stopping;
  }

  /** Sends nothing more to the store, not even that this member leaves: the store went back to an earlier state. */
  abandon(): void {
    this.#current.end();
    this.#stopping ??= Promise.resolve();
  }

  async #leave(): Promise<void> {
    this.#current.end();
    if (!this.#isStarted) return;
    // A join that lands after the removal would leave the row of a dead member behind. Its error goes to the caller that began it.
    await this.#joining?.catch(() => undefined);
    this.#leftovers.add(this.#current.id);
    await this.#removeLeftovers();
  }

  /** Removes former ids from the store. The others find those silent that cannot be removed now. */
  async #removeLeftovers(): Promise<void> {
    for (const id of this.#leftovers) {
      try {
        await this.#options.store.removeMember(id);
        this.#leftovers.delete(id);
      } catch (error) {
        this.#warn(
          id,
          error,
          "could not remove a former id of this member from the store; the other members will remove it",
        );
      }
    }
  }

  #newIncarnation(): Incarnation {
    const { clock, newId, timings, leaseThread } = this.#options;
    const id = newId();
    const renewalByThread = leaseThread && ((): Moment | undefined => leaseThread.renewalOf(id));
    return new Incarnation(id, new Lease(clock, { leaseMs: memberLeaseMs(timings), renewalByThread }), () =>
      leaseThread?.release(),
    );
  }

  #join(): Promise<Renewal | undefined> {
    this.#joining = this.#firstBeat();
    return this.#joining;
  }

  /** Joins and sends the first heartbeat, with which the lease begins. Undefined if it was stopped meanwhile. */
  async #firstBeat(): Promise<Renewal | undefined> {
    for (;;) {
      const incarnation = this.#current;
      await this.#ensureJoined(incarnation);
      if (incarnation.isOver) return undefined;
      const renewal = await this.#renew(incarnation);
      if (incarnation.isOver) return undefined;
      if (renewal.view.members.some(({ id }) => id === incarnation.id)) return renewal;
      this.#replace(incarnation);
    }
  }

  /**
   * Sends an id to the store at most once, whatever comes of it. If it were sent again, the two writes could land before
   * and after its removal, and the id would be back (I3).
   */
  async #ensureJoined(incarnation: Incarnation): Promise<void> {
    if (incarnation.hasJoined) return;
    try {
      const { address, process } = this.#options;
      await this.#options.store.join({ id: incarnation.id, address: withStamp(address, process.stamp) });
      incarnation.hasJoined = true;
    } catch (error) {
      this.#leftovers.add(incarnation.id);
      if (!incarnation.isOver) this.#replace(incarnation);
      throw error;
    }
  }

  #replace(incarnation: Incarnation): void {
    incarnation.end();
    this.#current = this.#newIncarnation();
  }

  /** Joins again, with retries until it succeeds. */
  async #rejoin(): Promise<void> {
    let renewal: Renewal | undefined;
    try {
      renewal = await this.#join();
    } catch (error) {
      const incarnation = this.#current;
      if (incarnation.isOver) return;
      this.#warn(incarnation.id, error, "could not join the cluster again yet; retrying");
      incarnation.heartbeatTimer = this.#options.clock.after(this.#retryMs, () => void this.#rejoin());
      return;
    }
    this.#onJoined(renewal);
  }

  #onJoined(renewal: Renewal | undefined): void {
    const incarnation = this.#current;
    if (renewal === undefined || incarnation.isOver) return;
    this.#process(incarnation, renewal);
    void this.#removeLeftovers();
  }

  async #renew(incarnation: Incarnation): Promise<Renewal> {
    const sent = incarnation.lease.moment();
    const since = incarnation.shards.since(sent.monotonic);
    const changes = await this.#options.store.heartbeat(incarnation.id, this.#options.about(), since);
    const view = incarnation.shards.merge(changes, { since, askedAt: sent.monotonic });
    const { members } = view;
    const dead = members.filter((row) => row.id !== incarnation.id && this.#hasDied(row));
    const plain = members.map((row) => ({ ...row, address: withoutStamp(row.address) }));
    return { sent, view: { ...view, members: plain }, dead };
  }

  #hasDied({ address }: MemberRow): boolean {
    const stamp = stampOf(address);
    return stamp !== undefined && this.#options.process.hasDied(stamp);
  }

  async #heartbeat(incarnation: Incarnation): Promise<void> {
    // No timer fires while the machine is suspended, so the lease may have expired unnoticed.
    this.#checkLease(incarnation);
    incarnation.isBeating = true;
    incarnation.isHurried = false;
    let renewal: Renewal;
    try {
      renewal = await this.#renew(incarnation);
    } catch (error) {
      if (incarnation.isOver) return;
      this.#warn(incarnation.id, error, "a heartbeat did not reach the store");
      this.#checkLease(incarnation);
      this.#beatAfter(incarnation, this.#retryMs);
      return;
    }
    this.#checkLease(incarnation);
    if (!incarnation.isOver) this.#process(incarnation, renewal);
  }

  get #retryMs(): number {
    return this.#options.timings.beatMs * retryShare;
  }

  #beatAfter(incarnation: Incarnation, delayMs: number): void {
    incarnation.isBeating = false;
    if (incarnation.isOver) return;
    const waitMs = incarnation.isHurried ? 0 : Math.max(0, delayMs);
    incarnation.heartbeatTimer = this.#options.clock.after(waitMs, () => void this.#heartbeat(incarnation));
  }

  /** Takes over the view that came back with a heartbeat. */
  #process(incarnation: Incarnation, { sent, view, dead }: Renewal): void {
    const { clock, timings } = this.#options;
    this.#view = view;
    this.#viewAskedAt = sent.monotonic;
    this.#living = new Set(view.members.map(({ id }) => id));
    if (!this.#living.has(incarnation.id)) {
      void this.#onRemoved(incarnation);
      return;
    }
    this.#renewLease(incarnation, { view, sent });
    this.#announce(incarnation);
    this.#detectFailures(incarnation, { view, sent, dead });
    for (const row of dead) void this.#removeDead(incarnation, row);
    if (incarnation.isOver) return;
    this.#options.onView(view);
    this.#beatAfter(incarnation, sent.monotonic + timings.beatMs - clock.monotonic());
  }

  #renewLease(incarnation: Incarnation, { view, sent }: Pick<Renewal, "view" | "sent">): void {
    const { id, lease } = incarnation;
    lease.renew(sent);
    if (!lease.isValid) return;
    const heartbeat = view.members.find((row) => row.id === id)?.heartbeat ?? 0;
    this.#options.leaseThread?.hold({ member: id, sent, heartbeat });
    this.#awaitLapse(incarnation);
    if (!incarnation.isLapsed) return;
    incarnation.isLapsed = false;
    this.#tell({ type: "regained", member: incarnation.id, address: this.#options.address });
    this.#options.onRegained();
  }

  /** Announces this member once, and not before its lease has begun: listeners may begin to work at once. */
  #announce(incarnation: Incarnation): void {
    if (incarnation.isAnnounced) return;
    incarnation.isAnnounced = true;
    this.#tell({ type: "joined", member: incarnation.id, address: this.#options.address });
  }

  /**
   * Checks the lease at its end, and once in each heartbeat interval before: timers follow the monotonic clock, and the
   * machine may have been suspended, which only the wall clock shows, while a heartbeat waits for its answer.
   */
  #awaitLapse(incarnation: Incarnation): void {
    incarnation.leaseTimer?.cancel();
    const { clock, timings } = this.#options;
    const checkMs = Math.min(Math.ceil(incarnation.lease.remainingMs), timings.beatMs);
    incarnation.leaseTimer = clock.after(checkMs, () => {
      if (incarnation.lease.isValid) this.#awaitLapse(incarnation);
      else this.#checkLease(incarnation);
    });
  }

  #checkLease(incarnation: Incarnation): void {
    if (incarnation.isOver || incarnation.isLapsed || incarnation.lease.isValid) return;
    incarnation.isLapsed = true;
    incarnation.lease.lapse();
    this.#options.leaseThread?.release();
    this.#tell({ type: "lapsed", member: incarnation.id, address: this.#options.address });
    this.#options.onLapsed();
  }

  async #onRemoved(incarnation: Incarnation): Promise<void> {
    incarnation.end();
    this.#tell({ type: "gone", member: incarnation.id, address: this.#options.address });
    await this.#options.onGone();
    if (this.#stopping !== undefined) return;
    this.#replace(incarnation);
    await this.#rejoin();
  }

  #detectFailures(incarnation: Incarnation, { view, sent, dead }: Renewal): void {
    const { events, lost } = this.#detector.observe(view, incarnation.id, {
      asked: sent,
      arrived: incarnation.lease.moment(),
    });
    this.#detector.markDead(dead);
    for (const event of events) this.#tell(event);
    for (const row of lost) void this.#remove(incarnation, row);
  }

  /** Removes a member whose process has ended. Its lease needs no wait: its late writes are fenced. */
  async #removeDead(incarnation: Incarnation, row: MemberRow): Promise<void> {
    await this.#remove(incarnation, row);
    if (!incarnation.isOver) this.refreshView();
  }

  /** Removes a lost member unless its heartbeat has changed; the next view shows the outcome. */
  async #remove(incarnation: Incarnation, { id, heartbeat }: MemberRow): Promise<void> {
    if (incarnation.isOver || this.#removals.has(id)) return;
    this.#removals.add(id);
    try {
      await this.#options.store.removeMember(id, heartbeat);
    } catch (error) {
      this.#warn(
        id,
        error,
        "a member that is silent for too long could not be removed yet; retried with the next heartbeat",
      );
    } finally {
      this.#removals.delete(id);
    }
  }

  #warn(member: string, error: unknown, message: string): void {
    this.#options.logger.warn({ member, error: messageOf(error) }, message);
  }

  #tell(event: AboutMember): void {
    logMemberEvent(this.#options.logger, event);
    this.#options.onEvent(event);
  }
}

interface Renewal {
  /** The moment before the renewal was sent. */
  readonly sent: Moment;
  readonly view: ClusterView;
  /** Members whose process has ended. */
  readonly dead: readonly MemberRow[];
}
