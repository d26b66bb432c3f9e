import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";

/** A wish for slots that was not repeated for this long keeps nothing from others. */
const wishMs = 20_000;

/** Length of a turn: members with one slot more than others, or one instead of none, keep it this long. */
const turnMs = 10_000;

export interface DomainAllocatorOptions {
  readonly domain: string;
  readonly size: number;
  /** The epoch under which this member owns the domain's shard. */
  readonly epoch: number;
  readonly clock: Clock;
  /**
   * The members in a view that was asked for after the shard was claimed (I4), later in newer ones; undefined as long
   * as there is none.
   */
  readonly living: () => ReadonlySet<string> | undefined;
  /** Remote workers run on for at most this long without their member. 0 where no member has such workers. */
  readonly workerLostMs: number;
  /**
   * Quotas are not raised for this long after the first view: of members that died before it nothing is known, and
   * their workers may run on (I5). By default `workerLostMs`; less if it is certain that nobody died so lately.
   */
  readonly quietMs?: number;
}

export interface AllocatorStatus {
  readonly epoch: number;
  readonly size: number;
  /** Slots members have, or may have. More than the size only after that was lowered. */
  readonly used: number;
  /** Slots that remote workers of dead members may still use; part of `used`. */
  readonly kept: number;
  /** True while quotas are not raised, because not every member has reported yet. */
  readonly isSealed: boolean;
  /**
   * True once no more than `size` attempts can run. False for a while after the size was lowered or the shard moved.
   */
  readonly holds: boolean;
  /** Quotas by member. */
  readonly quotas: readonly MemberSlots[];
}

export interface MemberSlots {
  readonly member: string;
  readonly quota: number;
  readonly running: number;
  readonly waiting: number;
  readonly used: number;
}

/**
 * Hands out the slots of one domain to the members of the cluster. It lives in memory, on the owner of the domain's
 * shard; it never speaks first, and all it knows was reported to it. There is one for each epoch of the shard, and it is
 * not made a second time in the same one; whoever asks it has a valid lease.
 *
 * Messages may be lost, doubled, late and out of order, allocators of earlier epochs may still answer, and members come
 * and go. Why there never run more attempts than the domain has slots, nevertheless (Q1 to Q4 are in domain-quotas.ts):
 *
 * - I1. A member never has more, as its quota or running, than is counted as used by it: the largest of the quota it
 *   reported, what it reported as running, and what it was answered. All three are of its newest report. It has taken
 *   all answers that it will take to earlier ones (Q1), and what it took is in the report (Q2). So lowering a quota
 *   frees nothing before a newer report says that it was lowered, and a lost answer does no harm. A repetition of the
 *   newest report is never answered with more than the first time, an older one with what nobody takes.
 * - I2. Nobody is given more than what the others leave of the size. So no answer brings all that is used above the size.
 * - I3. Only one allocator raises at a time. This one counts only members whose report names its epoch, and they take no
 *   grant of an earlier one any more (Q3); and it raises nobody before it has counted all (I4).
 * - I4. It is sealed until every member of the first view has been counted, or is dead. Members that are not in that view
 *   have joined after the shard was claimed. They have nothing of earlier allocators, and take nothing from them (Q3).
 * - I5. A dead member has nothing, because its lease was over before it left the living. Only its remote workers may run
 *   on: what such a member used is kept for `workerLostMs`, and if it died before it was counted, nobody is raised for
 *   that long. Attempts that come to another member with their worker are counted there before that (Q4).
 * - I6. When the size is lowered below what is used, no answer is larger than what the others leave of the new size.
 *   Whoever has taken such an answer starts nothing until everything fits.
 */
export class DomainAllocator {
  readonly #options: DomainAllocatorOptions;
  readonly #seats = new Map<string, Seat>();
  #size = 0;
  /** Members of the first view that were not counted yet; undefined before that view. */
  #unheard: Set<string> | undefined;
  #quietUntil = 0;
  /** Slots that remote workers of dead members may use. */
  #kept: { readonly slots: number; readonly until: number }[] = [];

  constructor(options: DomainAllocatorOptions) {
    this.#options = options;
    this.resize(options.size);
    this.follow();
  }

  /**
   * `SHARD_MOVED`: to be asked again, here or elsewhere. There is a newer allocator, or this one does not know the
   * member (yet, or any more).
   */
  report(report: SlotReport): SlotGrant {
    const { domain, epoch } = this.#options;
    const living = this.follow();
    if (report.epoch > epoch) throw moved(`the slots of domain "${domain}" are handed out under a later epoch`);
    if (living?.has(report.member) !== true) {
      throw moved(`member "${report.member}" asks for slots of domain "${domain}" and is not among the living here`);
    }
    const { sequence } = report;
    // The member does not know of this allocator yet, and may still take the grant of an earlier one (I3).
    if (report.epoch < epoch) return { epoch, sequence, quota: report.quota };
    const known = this.#seats.get(report.member);
    if (known !== undefined && sequence <= known.report.sequence) {
      const isNewest = sequence === known.report.sequence;
      return { epoch, sequence, quota: isNewest ? Math.min(known.granted, this.#roomFor(known)) : 0 };
    }
    const seat = this.#count(report, known);
    const quota = this.#allot(seat);
    seat.granted = quota;
    return { epoch, sequence, quota };
  }

  resize(size: number): void {
    assert(Number.isInteger(size) && size >= 0, "a domain's size is a whole number");
    this.#size = size;
  }

  /**
   * Takes note of who has died, and gives those who live, as far as it is known. Called with every new view, it lets what
   * is kept for the dead come back in time; otherwise that time begins with the next report.
   */
  follow(): ReadonlySet<string> | undefined {
    const { clock, workerLostMs, quietMs = workerLostMs } = this.#options;
    const now = clock.monotonic();
    const living = this.#options.living();
    if (living === undefined) return undefined;
    if (this.#unheard === undefined) {
      this.#unheard = new Set(living);
      this.#quietUntil = now + quietMs;
    }
    for (const member of this.#unheard) {
      if (living.has(member)) continue;
      this.#unheard.delete(member);
      this.#quietUntil = Math.max(this.#quietUntil, now + workerLostMs);
    }
    for (const [member, seat] of this.#seats) {
      if (living.has(member)) continue;
      this.#seats.delete(member);
      if (seat.hadRemoteWorkers) this.#kept.push({ slots: usedBy(seat), until: now + workerLostMs });
    }
    this.#kept = this.#kept.filter(({ until }) => until > now);
    return living;
  }

  status(): AllocatorStatus {
    this.follow();
    const kept = this.#keptSlots();
    const used = this.#usedSlots() + kept;
    const isSealed = this.#isSealed();
    const quotas = [...this.#seats.values()].map((seat) => ({
      member: seat.report.member,
      quota: seat.granted,
      running: seat.report.running,
      waiting: seat.report.waiting,
      used: usedBy(seat),
    }));
    const { epoch } = this.#options;
    return { epoch, size: this.#size, used, kept, isSealed, holds: !isSealed && used <= this.#size, quotas };
  }

  #isSealed(): boolean {
    return this.#unheard?.size !== 0 || this.#options.clock.monotonic() < this.#quietUntil;
  }

  /** The member's newest report: whatever was counted for it before is over (I1). */
  #count(report: SlotReport, known: Seat | undefined): Seat {
    const seat = {
      report,
      granted: report.quota,
      // Attempts of a worker that has left may still run.
      hadRemoteWorkers: report.hasRemoteWorkers || known?.hadRemoteWorkers === true,
      heardAt: this.#options.clock.monotonic(),
      turnAt: known?.turnAt ?? -Infinity,
    };
    this.#seats.set(report.member, seat);
    this.#unheard?.delete(report.member);
    return seat;
  }

  /** The answer to a report that has just been counted. */
  #allot(seat: Seat): number {
    const { quota } = seat.report;
    const room = this.#roomFor(seat);
    if (this.#isSealed()) return Math.min(quota, room);
    const slots = Math.max(0, this.#size - this.#keptSlots());
    const shares = shareOut(slots, [...this.#seats.values()], seat.heardAt);
    const share = shares.of(seat);
    // The member keeps slots beyond its share, as far as nobody lacks them.
    let lacking = 0;
    for (const other of this.#seats.values()) {
      if (other !== seat) lacking += Math.max(0, shares.of(other) - usedBy(other));
    }
    const missing = Math.max(0, lacking - Math.max(0, room - usedBy(seat)));
    const allotted = Math.min(Math.max(share, quota - missing), room);
    if (shares.first.has(seat) && allotted >= share && !hasTurn(seat, seat.heardAt)) seat.turnAt = seat.heardAt;
    return allotted;
  }

  /** Returns the slots that the others leave. If everything fits, that is no less than what the member has (I2, I6). */
  #roomFor(seat: Seat): number {
    const usedByOthers = this.#usedSlots() + this.#keptSlots() - usedBy(seat);
    return Math.max(0, this.#size - usedByOthers);
  }

  #usedSlots(): number {
    let sum = 0;
    for (const seat of this.#seats.values()) sum += usedBy(seat);
    return sum;
  }

  #keptSlots(): number {
    return this.#kept.reduce((sum, { slots }) => sum + slots, 0);
  }
}

/** Slot state of one member. */
interface Seat {
  /** The member's newest report. */
  readonly report: SlotReport;
  /** The quota that was granted in answer to that report. */
  granted: number;
  readonly hadRemoteWorkers: boolean;
  readonly heardAt: number;
  /** Time at which the member last received one of the remaining slots that cannot be divided equally. */
  turnAt: number;
}

/**
 * Slots that the member may be using: the largest of its quota, its running attempts and what was last granted (I1).
 */
function usedBy({ report, granted }: Seat): number {
  return Math.max(report.quota, report.running, granted);
}

function wishOf({ report, heardAt }: Seat, now: number): number {
  return report.running + (now - heardAt < wishMs ? report.waiting : 0);
}

/** Slots each member should have, and who has one more than others who would like it too. */
interface Shares {
  readonly of: (seat: Seat) => number;
  readonly first: ReadonlySet<Seat>;
}

/**
 * Divides the slots: each member gets all it can use, if that is possible. Otherwise all get the same, or what they can
 * use if that is less; and slots that cannot be divided rotate among the members that can use them.
 */
function shareOut(slots: number, seats: readonly Seat[], now: number): Shares {
  const wishes = seats.map((seat) => wishOf(seat, now));
  const { level, rest } = fill(slots, wishes);
  const further = seats.filter((seat) => wishOf(seat, now) > level).sort((a, b) => compareTurns(a, b, now));
  const first = new Set(further.slice(0, rest));
  return { first, of: (seat) => Math.min(wishOf(seat, now), first.has(seat) ? level + 1 : level) };
}

/** Returns the highest level to which all wishes can be met out of so many slots, and the slots that are left. */
function fill(slots: number, wishes: number[]): { level: number; rest: number } {
  let left = slots;
  let open = wishes.length;
  for (const wish of wishes.sort((a, b) => a - b)) {
    const level = Math.floor(left / open);
    if (wish > level) return { level, rest: left - level * open };
    left -= wish;
    open--;
  }
  return { level: Infinity, rest: 0 };
}

/** Sorts members that have their turn first, then by who had it longest ago. */
function compareTurns(a: Seat, b: Seat, now: number): number {
  if (hasTurn(a, now) !== hasTurn(b, now)) return hasTurn(a, now) ? -1 : 1;
  if (a.turnAt !== b.turnAt) return a.turnAt < b.turnAt ? -1 : 1;
  return a.report.member < b.report.member ? -1 : 1;
}

function hasTurn({ turnAt }: Seat, now: number): boolean {
  return now - turnAt < turnMs;
}

function moved(message: string): EngineError {
  return new EngineError("SHARD_MOVED", message);
}
