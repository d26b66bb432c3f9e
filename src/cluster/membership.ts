import { assert } from "../base/assert.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterView, MemberRow, Store } from "../stores/store.ts";
import { elapsedMsBetween, type Moment } from "../base/moment.ts";
import { Lease } from "./lease.ts";
import type { MemberEvent } from "./member-event.ts";
import { stampOf, withoutStamp, withStamp } from "./stamped-address.ts";
import { type ClusterTimings, ownPatience } from "./timings.ts";

/** After an error of the store the next try comes sooner than the next beat would: a quarter of its time. */
const retryShare = 1 / 4;

/** Views that are further apart than so many beats were hindered, and what hinders one member may hinder all. */
const beatsApartMax = 2;

export interface MembershipOptions {
  readonly store: Pick<Store, "join" | "beat" | "removeMember">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where others reach this member. */
  readonly address: string;
  /** What this member says about itself, asked with every heartbeat. */
  readonly about: () => string;
  /** What tells this process from others, and whether one of them is known to be no more: nobody waits for its lease. */
  readonly process: { readonly stamp: string | undefined; readonly hasDied: (stamp: string) => boolean };
  /** Gives an id that no member ever had. */
  readonly newId: () => string;
  readonly timings: Pick<ClusterTimings, "beatMs" | "suspectMs" | "lostMs">;
  /** Every view in which this member finds itself, in order: each was asked for after the one before had arrived. */
  readonly onView: (view: ClusterView) => void;
  readonly onEvent: (event: MemberEvent) => void;
  /** Others may take over at any moment: what runs is to be stopped, and nothing answered from memory. */
  readonly onLapsed: () => void;
  /** Nobody has taken over. Always after `onLapsed`. */
  readonly onRegained: () => void;
  /**
   * Others have taken over: everything is to be dropped. When that is done this member joins again under a new id, which
   * it has from then on. Must not fail: half dropped, it could not go on.
   */
  readonly onGone: () => Promise<void>;
}

/**
 * This engine's place among the members of a cluster: gives signs of life, knows how long it may trust in them, and
 * watches those of the others.
 *
 * What keeps two members from owning one shard is an order of times. A renewal is *sent*, then it *lands* in the store,
 * then others *see* it. This member counts its lease from the first; the others count its silence from the third, and
 * only up to a moment before a later look found it unchanged; and they are more patient than it is itself, by more than
 * clocks may differ. So whenever they remove it, its lease is over (I1). The store removes it only if it has not moved
 * since (I2), and an id that was removed has no lease ever again (I3).
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #detector: FailureDetector;
  #life: Life;
  #view: ClusterView = { members: [], shards: [] };
  #viewAskedAt = -Infinity;
  #living: ReadonlySet<string> = new Set();
  #isStarted = false;
  #joining: Promise<Renewal | undefined> | undefined;
  #stopping: Promise<void> | undefined;
  /** Ids of this member that may have landed in the store and are not its own any more. */
  readonly #leftovers = new Set<string>();
  /** Members whose removal is on its way to the store. */
  readonly #removals = new Set<string>();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#detector = new FailureDetector(options.timings);
    this.#life = this.#newLife();
  }

  /** A new one each time it joins. */
  get id(): string {
    return this.#life.id;
  }

  /** Of this id: after `onGone`, and the joining that follows, it is another one. */
  get lease(): Lease {
    return this.#life.lease;
  }

  /** As the store was a while ago. */
  get view(): ClusterView {
    return this.#view;
  }

  /** When the view was asked for, on the monotonic clock: it shows everything that was in the store by then. */
  get viewAskedAt(): number {
    return this.#viewAskedAt;
  }

  /** Ids of the members in the view, suspected ones among them. */
  get living(): ReadonlySet<string> {
    return this.#living;
  }

  /** Joins. The first view has arrived when it resolves. Throws what the store throws; nothing goes on then. */
  async start(): Promise<void> {
    assert(
      !this.#isStarted && this.#stopping === undefined,
      "a membership is started once, and not after it was stopped",
    );
    this.#isStarted = true;
    try {
      this.#joined(await this.#join());
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Something has happened that only a later view can tell of: it is asked for now, and not with the next beat. */
  lookAgain(): void {
    const life = this.#life;
    if (life.isOver || !life.isAnnounced) return;
    life.isHurried = true;
    if (life.isBeating) return;
    life.beatTimer?.cancel();
    void this.#beat(life);
  }

  /** Leaves. If the store cannot be told, the others find out by themselves. */
  stop(): Promise<void> {
    this.#stopping ??= this.#leave();
    return this.#stopping;
  }

  async #leave(): Promise<void> {
    this.#end(this.#life);
    if (!this.#isStarted) return;
    // A join that lands after the removal would leave a member behind that nobody is. Its error is told to who began it.
    await this.#joining?.catch(() => undefined);
    this.#leftovers.add(this.#life.id);
    await this.#clearUp();
  }

  /** Whatever cannot be removed now the others will find silent. */
  async #clearUp(): Promise<void> {
    for (const id of this.#leftovers) {
      try {
        await this.#options.store.removeMember(id);
        this.#leftovers.delete(id);
      } catch (error) {
        this.#failed(id, error, "could not tell the store that a member left; the others will find out");
      }
    }
  }

  #newLife(): Life {
    const { clock, newId, timings } = this.#options;
    return {
      id: newId(),
      lease: new Lease(clock, { leaseMs: leaseMsOf(timings) }),
      hasJoined: false,
      isAnnounced: false,
      isLapsed: false,
      isOver: false,
      isBeating: false,
      isHurried: false,
      beatTimer: undefined,
      leaseTimer: undefined,
    };
  }

  /** From here on nothing is heard of it any more, neither its timers nor answers that are still on their way. */
  #end(life: Life): void {
    life.isOver = true;
    life.lease.end();
    life.beatTimer?.cancel();
    life.leaseTimer?.cancel();
  }

  #join(): Promise<Renewal | undefined> {
    this.#joining = this.#firstBeat();
    return this.#joining;
  }

  /** Joins and gives the first sign of life, with which the lease begins. Undefined if it was stopped meanwhile. */
  async #firstBeat(): Promise<Renewal | undefined> {
    for (;;) {
      const life = this.#life;
      await this.#ensureJoined(life);
      if (life.isOver) return undefined;
      const renewal = await this.#renew(life);
      if (life.isOver) return undefined;
      if (renewal.view.members.some(({ id }) => id === life.id)) return renewal;
      this.#replace(life);
    }
  }

  /**
   * An id is sent to the store once, whatever comes of it. If it were sent again, the two could land on both sides of
   * its removal, and it would be back (I3).
   */
  async #ensureJoined(life: Life): Promise<void> {
    if (life.hasJoined) return;
    try {
      const { address, process } = this.#options;
      await this.#options.store.join({ id: life.id, address: withStamp(address, process.stamp) });
      life.hasJoined = true;
    } catch (error) {
      this.#leftovers.add(life.id);
      if (!life.isOver) this.#replace(life);
      throw error;
    }
  }

  #replace(life: Life): void {
    this.#end(life);
    this.#life = this.#newLife();
  }

  /** Tries until it succeeds. */
  async #rejoin(): Promise<void> {
    let renewal: Renewal | undefined;
    try {
      renewal = await this.#join();
    } catch (error) {
      const life = this.#life;
      if (life.isOver) return;
      this.#failed(life.id, error, "could not join again yet");
      life.beatTimer = this.#options.clock.after(this.#retryMs, () => void this.#rejoin());
      return;
    }
    this.#joined(renewal);
  }

  #joined(renewal: Renewal | undefined): void {
    const life = this.#life;
    if (renewal === undefined || life.isOver) return;
    this.#take(life, renewal);
    void this.#clearUp();
  }

  async #renew(life: Life): Promise<Renewal> {
    const sent = life.lease.moment();
    const { members, shards } = await this.#options.store.beat(life.id, this.#options.about());
    const dead = members.filter((row) => row.id !== life.id && this.#hasDied(row));
    const plain = members.map((row) => ({ ...row, address: withoutStamp(row.address) }));
    return { sent, view: { members: plain, shards }, dead };
  }

  #hasDied({ address }: MemberRow): boolean {
    const stamp = stampOf(address);
    return stamp !== undefined && this.#options.process.hasDied(stamp);
  }

  async #beat(life: Life): Promise<void> {
    // The machine may have been suspended since, which no timer tells.
    this.#checkLease(life);
    life.isBeating = true;
    life.isHurried = false;
    let renewal: Renewal;
    try {
      renewal = await this.#renew(life);
    } catch (error) {
      if (life.isOver) return;
      this.#failed(life.id, error, "a sign of life did not reach the store");
      this.#checkLease(life);
      this.#beatAfter(life, this.#retryMs);
      return;
    }
    this.#checkLease(life);
    if (!life.isOver) this.#take(life, renewal);
  }

  get #retryMs(): number {
    return this.#options.timings.beatMs * retryShare;
  }

  #beatAfter(life: Life, delayMs: number): void {
    life.isBeating = false;
    if (life.isOver) return;
    const waitMs = life.isHurried ? 0 : Math.max(0, delayMs);
    life.beatTimer = this.#options.clock.after(waitMs, () => void this.#beat(life));
  }

  /** What a sign of life has brought. */
  #take(life: Life, { sent, view, dead }: Renewal): void {
    const { clock, timings } = this.#options;
    this.#view = view;
    this.#viewAskedAt = sent.monotonic;
    this.#living = new Set(view.members.map(({ id }) => id));
    if (!this.#living.has(life.id)) {
      void this.#gone(life);
      return;
    }
    this.#renewed(life, sent);
    this.#announce(life);
    this.#lookAt(life, { view, sent, dead });
    for (const row of dead) void this.#removeDead(life, row);
    if (life.isOver) return;
    this.#options.onView(view);
    this.#beatAfter(life, sent.monotonic + timings.beatMs - clock.monotonic());
  }

  #renewed(life: Life, sent: Moment): void {
    life.lease.renew(sent);
    if (!life.lease.isValid) return;
    this.#awaitLapse(life);
    if (!life.isLapsed) return;
    life.isLapsed = false;
    this.#tell({ type: "regained", member: life.id, address: this.#options.address });
    this.#options.onRegained();
  }

  /** Once, and not before its lease has begun: whoever hears of it may begin to work. */
  #announce(life: Life): void {
    if (life.isAnnounced) return;
    life.isAnnounced = true;
    this.#tell({ type: "joined", member: life.id, address: this.#options.address });
  }

  #awaitLapse(life: Life): void {
    life.leaseTimer?.cancel();
    life.leaseTimer = this.#options.clock.after(Math.ceil(life.lease.remainingMs), () => {
      // Still valid if the wall clock, which had been ahead, was set back.
      if (life.lease.isValid) this.#awaitLapse(life);
      else this.#checkLease(life);
    });
  }

  #checkLease(life: Life): void {
    if (life.isOver || life.isLapsed || life.lease.isValid) return;
    life.isLapsed = true;
    this.#tell({ type: "lapsed", member: life.id, address: this.#options.address });
    this.#options.onLapsed();
  }

  async #gone(life: Life): Promise<void> {
    this.#end(life);
    this.#tell({ type: "gone", member: life.id, address: this.#options.address });
    await this.#options.onGone();
    if (this.#stopping !== undefined) return;
    this.#replace(life);
    await this.#rejoin();
  }

  #lookAt(life: Life, { view, sent, dead }: Renewal): void {
    const { events, lost } = this.#detector.look(view, life.id, { asked: sent, arrived: life.lease.moment() });
    this.#detector.markDead(dead);
    for (const event of events) this.#tell(event);
    for (const row of lost) void this.#remove(life, row);
  }

  /** It has no lease any more, and whatever it sent is kept out by the fences of its shards. */
  async #removeDead(life: Life, row: MemberRow): Promise<void> {
    await this.#remove(life, row);
    if (!life.isOver) this.lookAgain();
  }

  /** Whatever comes of it is seen in the next view. */
  async #remove(life: Life, { id, beat }: MemberRow): Promise<void> {
    if (life.isOver || this.#removals.has(id)) return;
    this.#removals.add(id);
    try {
      await this.#options.store.removeMember(id, beat);
    } catch (error) {
      this.#failed(id, error, "a member that is silent for too long could not be removed yet");
    } finally {
      this.#removals.delete(id);
    }
  }

  #failed(member: string, error: unknown, message: string): void {
    this.#options.logger.warn({ member, error: messageOf(error) }, message);
  }

  #tell(event: AboutMember): void {
    const { type, ...fields } = event;
    const { level, message } = lines[type];
    this.#options.logger[level](fields, message);
    this.#options.onEvent(event);
  }
}

type AboutMember = Exclude<MemberEvent, { readonly shard: number }>;

/** One stay among the members, under one id. */
interface Life {
  readonly id: string;
  readonly lease: Lease;
  hasJoined: boolean;
  isAnnounced: boolean;
  isLapsed: boolean;
  isOver: boolean;
  /** A sign of life is on its way. */
  isBeating: boolean;
  /** The next one is to follow at once. */
  isHurried: boolean;
  /** For the next beat, or the next try to join. */
  beatTimer: Timer | undefined;
  leaseTimer: Timer | undefined;
}

interface Renewal {
  /** Before it was sent. */
  readonly sent: Moment;
  readonly view: ClusterView;
  /** Members whose process is no more. */
  readonly dead: readonly MemberRow[];
}

const lines = {
  joined: { level: "info", message: "member joined" },
  suspected: { level: "warn", message: "member unreachable" },
  returned: { level: "info", message: "member reachable again" },
  lost: { level: "warn", message: "member lost; its shards are taken over" },
  left: { level: "info", message: "member left" },
  lapsed: {
    level: "warn",
    message:
      "the lease of this member has expired: no heartbeat reached the store in time; it starts and answers nothing",
  },
  regained: { level: "info", message: "heartbeats reach the store again; this member continues" },
  gone: {
    level: "warn",
    message: "the other members removed this member; it drops what it owned and joins again under a new id",
  },
} as const;

/** In less than this nobody can have been found silent for too long, by whatever clock that is allowed. */
function leaseMsOf({ suspectMs, lostMs }: MembershipOptions["timings"]): number {
  return ownPatience * (suspectMs + lostMs);
}

/** Another member, as it was seen last. */
interface WatchedMember {
  readonly row: MemberRow;
  /** On this member's monotonic clock: when the first view that showed this beat had arrived. */
  since: number;
  /** It gave this sign of life after that; unknown for those of the first view. */
  readonly livedAt: Moment | undefined;
  isSuspected: boolean;
  /** There is a proof that its process has ended. */
  hasDied: boolean;
}

/** Between them a view was on its way. */
interface ViewTimes {
  readonly asked: Moment;
  readonly arrived: Moment;
}

/** What a view shows of the others, compared with those before. */
interface Findings {
  readonly events: AboutMember[];
  /** Silent for so long that they are to be removed. */
  readonly lost: MemberRow[];
}

/** A member that leaves in good order releases its shards first. */
function ownsShard(member: string, { shards }: ClusterView): boolean {
  return shards.some(({ owner, released }) => owner === member && !released);
}

/** Finds out from one view to the next who came, who went and who is silent. Has no clock of its own. */
class FailureDetector {
  readonly #timings: MembershipOptions["timings"];
  readonly #others = new Map<string, WatchedMember>();
  /** When the last view was asked for; undefined before the first. */
  #asked: Moment | undefined;

  constructor(timings: MembershipOptions["timings"]) {
    this.#timings = timings;
  }

  /** Whoever is in the first view has not just joined. */
  look(view: ClusterView, me: string, { asked, arrived }: ViewTimes): Findings {
    const livedAt = this.#asked;
    const sight: Findings = { events: [], lost: [] };
    this.#forgive({ asked, arrived });
    const rows = new Map(view.members.map((row) => [row.id, row]));
    rows.delete(me);
    for (const [member, other] of this.#others) {
      if (rows.has(member)) continue;
      this.#others.delete(member);
      const type = this.#mayBeLost(other, arrived) || ownsShard(member, view) ? "lost" : "left";
      sight.events.push({ type, member, address: other.row.address });
    }
    for (const [member, row] of rows) {
      const other = this.#others.get(member);
      if (other?.row.beat === row.beat) {
        this.#unmoved(other, asked.monotonic, sight);
        continue;
      }
      this.#others.set(member, { row, since: arrived.monotonic, livedAt, isSuspected: false, hasDied: false });
      if (other === undefined && livedAt !== undefined)
        sight.events.push({ type: "joined", member, address: row.address });
      if (other?.isSuspected) sight.events.push({ type: "returned", member, address: row.address });
    }
    return sight;
  }

  /** The processes of these members have ended: whoever removes them from the store, they did not leave by themselves. */
  markDead(rows: readonly MemberRow[]): void {
    for (const { id } of rows) {
      const other = this.#others.get(id);
      if (other !== undefined) other.hasDied = true;
    }
  }

  /** Another member may have watched it for longer than this one, and have found it silent for too long. */
  #mayBeLost({ isSuspected, hasDied, livedAt }: WatchedMember, arrived: Moment): boolean {
    if (isSuspected || hasDied || livedAt === undefined) return true;
    return elapsedMsBetween(livedAt, arrived) >= leaseMsOf(this.#timings);
  }

  /**
   * Time in which this member saw nothing is not held against the others: when the store was away from all of them,
   * whoever reaches it first must not find all the others lost.
   */
  #forgive({ asked, arrived }: ViewTimes): void {
    const apartMs = asked.monotonic - (this.#asked ?? asked).monotonic;
    this.#asked = asked;
    const unseenMs = apartMs - beatsApartMax * this.#timings.beatMs;
    if (unseenMs <= 0) return;
    for (const other of this.#others.values()) other.since = Math.min(other.since + unseenMs, arrived.monotonic);
  }

  #unmoved(other: WatchedMember, asked: number, { events, lost }: Findings): void {
    const { suspectMs, lostMs } = this.#timings;
    const { id: member, address } = other.row;
    const silentMs = asked - other.since;
    if (silentMs >= suspectMs && !other.isSuspected) {
      other.isSuspected = true;
      events.push({ type: "suspected", member, address, silentMs });
    }
    if (silentMs >= suspectMs + lostMs) lost.push(other.row);
  }
}
