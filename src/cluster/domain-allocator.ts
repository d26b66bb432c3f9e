import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";

/** Time after which a demand for slots that was not repeated no longer reserves slots. */
const wishMs = 20_000;

/** Time for which a member keeps its extra slot, one of the remaining slots that cannot be divided equally. */
const extraSlotMs = 10_000;

export interface DomainAllocatorOptions {
  readonly domain: string;
  readonly size: number;
  /** The epoch under which this member owns the domain's shard. */
  readonly epoch: number;
  readonly clock: Clock;
  /**
   * Returns the members in the newest view; undefined until a view has arrived that was requested after the shard was
   * claimed (I4).
   */
  readonly living: () => ReadonlySet<string> | undefined;
  /** Maximum time for which remote workers keep running without their member; 0 if no member has remote workers. */
  readonly workerLostMs: number;
  /**
   * Time after the first view in which quotas are not raised: nothing is known of members that died before that view,
   * and their workers may keep running (I5). Default `workerLostMs`; less if no member can have died that recently.
   */
  readonly quietMs?: number;
}

export interface AllocatorStatus {
  readonly epoch: number;
  readonly size: number;
  /** Slots that members have, or may have. Larger than the size only after the size was lowered. */
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
 * Grants the slots of one domain to the members of the cluster. The allocator is an object in memory, on the owner of the
 * domain's shard. It only answers reports, and knows only what members reported. Each epoch of the shard has one
 * allocator, which is created once; a member that reports to it has a valid lease.
 *
 * Messages may be lost, duplicated, delayed and reordered, allocators of earlier epochs may still answer, and members
 * join and leave. The invariants that keep the number of running attempts within the size of the domain nevertheless
 * (Q1 to Q4 are in domain-quotas.ts):
 *
 * - I1. Neither the quota of a member nor the number of its running attempts exceeds the slots that are counted as used
 *   by the member: the largest of the quota in its newest report, the running attempts in that report, and the quota
 *   granted in answer to it. The member has applied every grant to earlier reports that it will ever apply (Q1), and the
 *   newest report contains the result (Q2). So lowering a quota frees no slot before a newer report confirms it, and a
 *   lost grant does no harm. A repetition of the newest report is never granted more than the report itself; an older
 *   report gets a grant that no member applies.
 * - I2. No member is granted more than the slots that all others leave of the size. So no grant raises the sum of used
 *   slots above the size.
 * - I3. Only one allocator raises quotas at a time. An allocator counts only members whose report names its epoch; these
 *   apply no grant of an earlier epoch any more (Q3). It raises no quota before it has counted all members (I4).
 * - I4. An allocator is sealed until every member of the first view is counted or dead. Members that are not in that view
 *   joined after the shard was claimed: they have no grant of earlier allocators, and apply none (Q3).
 * - I5. A dead member uses no slot, because its lease expired before it was removed from the view. Only its remote
 *   workers may keep running: the slots that the member used are kept for `workerLostMs`, and if the member died before
 *   it was counted, no quota is raised for that long. Attempts that move to another member with their worker are counted
 *   there before that time is over (Q4).
 * - I6. When the size is lowered below the used slots, no grant is larger than what the others leave of the new size. A
 *   member that has applied such a grant starts nothing until the used slots fit into the size.
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
   * Counts the report of a member and returns its grant. `SHARD_MOVED` if there is a newer allocator, or if the member is
   * not in the view, yet or any more: the member reports again, here or to the shard's next owner.
   */
  report(report: SlotReport): SlotGrant {
    const { domain, epoch } = this.#options;
    const living = this.follow();
    if (report.epoch > epoch)
      throw moved(`the slots of domain "${localName(domain)}" are handed out under a later epoch`);
    if (living?.has(report.member) !== true) {
      throw moved(
        `member "${report.member}" asks for slots of domain "${localName(domain)}" and is not among the living here`,
      );
    }
    const { sequence } = report;
    // The member does not know of this allocator yet, and may still apply the grant of an earlier one (I3).
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
   * Removes members that have died since the last view, and returns the living ones; undefined before the first view.
   * Called with every new view: the time for which slots of dead members are kept begins with this call.
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

  /** Counts the member's newest report, which replaces what was counted for the member before (I1). */
  #count(report: SlotReport, known: Seat | undefined): Seat {
    const seat = {
      report,
      granted: report.quota,
      // Attempts of a worker that has left may still run.
      hadRemoteWorkers: report.hasRemoteWorkers || known?.hadRemoteWorkers === true,
      heardAt: this.#options.clock.monotonic(),
      extraSlotAt: known?.extraSlotAt ?? -Infinity,
    };
    this.#seats.set(report.member, seat);
    this.#unheard?.delete(report.member);
    return seat;
  }

  /** Returns the quota that answers a report that has just been counted. */
  #allot(seat: Seat): number {
    const { quota } = seat.report;
    const room = this.#roomFor(seat);
    if (this.#isSealed()) return Math.min(quota, room);
    const slots = Math.max(0, this.#size - this.#keptSlots());
    const shares = shareOut(slots, [...this.#seats.values()], seat.heardAt);
    const share = shares.of(seat);
    // The member keeps slots beyond its share, unless other members lack them.
    let lacking = 0;
    for (const other of this.#seats.values()) {
      if (other !== seat) lacking += Math.max(0, shares.of(other) - usedBy(other));
    }
    const missing = Math.max(0, lacking - Math.max(0, room - usedBy(seat)));
    const allotted = Math.min(Math.max(share, quota - missing), room);
    if (shares.first.has(seat) && allotted >= share && !hasExtraSlot(seat, seat.heardAt))
      seat.extraSlotAt = seat.heardAt;
    return allotted;
  }

  /** Returns the slots that the other members leave: no less than the member uses, if the used slots fit into the size (I2, I6). */
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
  extraSlotAt: number;
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

/** Slots that each member should have, and the members that have one of the remaining slots. */
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
  const further = seats.filter((seat) => wishOf(seat, now) > level).sort((a, b) => compareExtraSlots(a, b, now));
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

/** Sorts members that have an extra slot first, then by who had one longest ago. */
function compareExtraSlots(a: Seat, b: Seat, now: number): number {
  if (hasExtraSlot(a, now) !== hasExtraSlot(b, now)) return hasExtraSlot(a, now) ? -1 : 1;
  if (a.extraSlotAt !== b.extraSlotAt) return a.extraSlotAt < b.extraSlotAt ? -1 : 1;
  return a.report.member < b.report.member ? -1 : 1;
}

function hasExtraSlot({ extraSlotAt }: Seat, now: number): boolean {
  return now - extraSlotAt < extraSlotMs;
}

function moved(message: string): EngineError {
  return new EngineError("SHARD_MOVED", message);
}
